import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { LeafmillError } from './errors.js';

export const DEFAULTS = {
  title: 'Wiki',
  language: 'en',
  template: undefined,
  attachments: 'files',
  search: true,
};

const KINDS = {
  title: 'string',
  language: 'string',
  template: 'string',
  attachments: 'string',
  search: 'boolean',
};

export function checkConfig(data, file = 'leafmill.json') {
  if (data === null || typeof data !== 'object' || Array.isArray(data)) {
    throw new LeafmillError('an object is wanted', { file });
  }
  for (const [key, value] of Object.entries(data)) {
    if (!(key in KINDS)) throw new LeafmillError(`unknown key ${key}`, { file });
    if (typeof value !== KINDS[key]) throw new LeafmillError(`${key} must be a ${KINDS[key]}`, { file });
  }
  return { ...DEFAULTS, ...data };
}

export async function loadConfig(folder) {
  const file = path.join(folder, 'leafmill.json');
  let text;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return { ...DEFAULTS };
    throw error;
  }
  try {
    return checkConfig(JSON.parse(text), file);
  } catch (error) {
    if (error instanceof SyntaxError) throw new LeafmillError(error.message, { file });
    throw error;
  }
}
