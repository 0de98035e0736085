import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';

import { DEFAULTS, checkConfig, loadConfig } from '../src/config.js';

describe('configuration', () => {
  it('has defaults', () => assert.deepEqual(checkConfig({}), DEFAULTS));
  it('takes values', () => assert.equal(checkConfig({ title: 'X' }).title, 'X'));
  for (const bad of [null, [], { title: 1 }, { search: 'yes' }, { colour: 'red' }]) {
    it(`refuses ${JSON.stringify(bad)}`, () => assert.throws(() => checkConfig(bad), { name: 'LeafmillError' }));
  }
  it('is optional', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'leafmill-'));
    assert.deepEqual(await loadConfig(folder), DEFAULTS);
  });
  it('must be JSON', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'leafmill-'));
    await writeFile(path.join(folder, 'leafmill.json'), '{');
    await assert.rejects(loadConfig(folder), { name: 'LeafmillError' });
  });
});
