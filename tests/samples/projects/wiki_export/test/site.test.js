import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { main } from '../src/cli.js';
import { addressOf, build } from '../src/site.js';

const EXAMPLE = fileURLToPath(new URL('./wiki', import.meta.url));

/** A wiki in a new folder; returns the folder and where to build it. */
async function wiki(files) {
  const root = await mkdtemp(path.join(tmpdir(), 'leafmill-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, 'wiki', name)), { recursive: true });
    await writeFile(path.join(root, 'wiki', name), text);
  }
  return { root, folder: path.join(root, 'wiki'), output: path.join(root, 'public') };
}

describe('addresses', () => {
  it('come from the name', () => assert.equal(addressOf('Big Page.wiki', {}), 'big-page.html'));
  it('keep folders', () => assert.equal(addressOf(path.join('How To', 'Cook.wiki'), {}), 'how-to/cook.html'));
  it('take the slug', () => assert.equal(addressOf('x.wiki', { slug: 'why' }), 'why.html'));
});

describe('building', () => {
  it('builds the example', async () => {
    const { output } = await wiki({});
    const report = await build(EXAMPLE, output);
    assert.equal(report.pages, 3);
    assert.deepEqual(report.missingLinks, ['Home.wiki: Garden']);
    assert.deepEqual((await readdir(output)).sort(), ['files', 'guides', 'home.html', 'search.json']);
    const page = await readFile(path.join(output, 'guides/pruning.html'), 'utf8');
    assert.match(page, /<title>Pruning – Orchard<\/title>/);
    assert.match(page, /href="\.\.\/home\.html"/);
    assert.match(page, /src="\.\.\/files\/cut\.svg"/);
  });
  it('leaves drafts out', async () => {
    const { folder, output } = await wiki({ 'a.wiki': 'x', 'b.wiki': '---\ndraft: true\n---\n' });
    assert.equal((await build(folder, output)).pages, 1);
  });
  it('refuses two pages with one address', async () => {
    const { folder, output } = await wiki({ 'a b.wiki': 'x', 'a-b.wiki': 'y' });
    await assert.rejects(build(folder, output), /same address as/);
  });
  it('reports missing attachments', async () => {
    const { folder, output } = await wiki({ 'a.wiki': '![[none.png]]' });
    assert.deepEqual((await build(folder, output)).missingFiles, ['none.png']);
  });
  it('uses the template', async () => {
    const { folder, output } = await wiki({
      'a.wiki': '# A', 't.html': '<{{title}}>', 'leafmill.json': '{"template": "t.html", "search": false}',
    });
    await build(folder, output);
    assert.equal(await readFile(path.join(output, 'a.html'), 'utf8'), '<A>');
    assert.deepEqual(await readdir(output), ['a.html']);
  });
  it('writes a search index', async () => {
    const { folder, output } = await wiki({ 'a.wiki': '# Apple\n\nThe red apple.' });
    await build(folder, output);
    const index = JSON.parse(await readFile(path.join(output, 'search.json'), 'utf8'));
    assert.deepEqual(index.words.red, [[0, 1]]);
    assert.equal(index.words.the, undefined);
  });
});

describe('command line', () => {
  const run = async (...args) => {
    const lines = [];
    const code = await main(args, { log: (line) => lines.push(line), warn: (line) => lines.push(line) });
    return [code, lines];
  };
  it('wants its arguments', async () => assert.equal((await run('build'))[0], 2));
  it('counts pages', async () => {
    const { folder, output } = await wiki({ 'a.wiki': '[[B]]' });
    assert.deepEqual(await run('build', folder, output), [0, ['missing page: a.wiki: B', '1 pages']]);
  });
  it('shows errors as one line', async () => {
    const { folder, output } = await wiki({ 'a.wiki': '```' });
    const [code, lines] = await run('build', folder, output);
    assert.deepEqual([code, lines], [1, ['leafmill: a.wiki: code block in line 1 is not closed']]);
  });
});
