import { LeafmillError } from './errors.js';
import { build } from './site.js';

const USAGE = 'usage: leafmill build FOLDER OUTPUT';

export async function main(args, { log = console.log, warn = console.error } = {}) {
  const [command, folder, output, ...rest] = args;
  if (command !== 'build' || !folder || !output || rest.length > 0) {
    warn(USAGE);
    return 2;
  }
  try {
    const report = await build(folder, output);
    for (const link of report.missingLinks) warn(`missing page: ${link}`);
    for (const file of report.missingFiles) warn(`missing file: ${file}`);
    log(`${report.pages} pages`);
    return 0;
  } catch (error) {
    if (!(error instanceof LeafmillError) && error.code !== 'ENOENT') throw error;
    warn(`leafmill: ${error.message}`);
    return 1;
  }
}
