"""A module is split, a plug-in interface made, and a review finds a way out of the output folder."""

from __future__ import annotations

import re

from tests.samples.record import PROJECTS, Session

META = dict(
    format="pi",
    project="wiki_export",
    title="Split render.js, plug-ins, review",
    started="2026-02-11T13:20:00Z",
    workdir="/srv/wiki_export",
    author="Noor Haddad <noor@example.org>",
)

RENDER = (PROJECTS / "wiki_export" / "src" / "render.js").read_text(encoding="utf-8")
PARTS = dict(zip(("head", "text", "front", "blocks", "inline", "toc", "pages"), re.split(r"// -- [a-z ]+ -+\n\n", RENDER)))

TEXT = "// Small things about text that everything else uses.\n\n" + PARTS["text"]
FRONT = "import { LeafmillError } from '../errors.js';\n\n" + PARTS["front"]
BLOCKS = "// From lines to blocks. Knows nothing of HTML.\n\nimport { LeafmillError } from '../errors.js';\n\n" + PARTS["blocks"]
INLINE = "// Markup within a line.\n\nimport { escapeHtml, slugify } from '../text.js';\n\n" + PARTS["inline"]
HTML = (
    "// From blocks to HTML.\n\nimport { Slugger, escapeHtml } from '../text.js';\nimport { parseBlocks } from './blocks.js';\n"
    "import { parseFrontMatter } from './frontmatter.js';\nimport { plainText, renderInline } from './inline.js';\n\n"
    + PARTS["toc"]
    + PARTS["pages"]
)
FACADE = """
// The old address of everything about markup; see docs/architecture.md.

export { escapeHtml, slugify } from './text.js';
export { parseFrontMatter } from './markup/frontmatter.js';
export { parseBlocks } from './markup/blocks.js';
export { plainText, renderInline } from './markup/inline.js';
export { buildToc, makeContext, renderBlocks, renderPage, renderToc } from './markup/html.js';
"""

PLUGIN_JS = """
// Plug-ins: plain objects with a name and any of
//
//   blocks     [{ type, match(line), render(block, context) }]
//              match gives the fields of the block, or undefined
//   afterPage  (page, context): may change page.html
//   afterSite  (site): gives [{ path, text }], files to write
//
// They run in the order in which they are listed.

import { LeafmillError } from './errors.js';

const KEYS = new Set(['name', 'blocks', 'afterPage', 'afterSite']);

export function checkPlugin(plugin, from = 'plug-in') {
  if (plugin === null || typeof plugin !== 'object') {
    throw new LeafmillError('a plug-in must be an object', { file: from });
  }
  if (typeof plugin.name !== 'string' || plugin.name === '') {
    throw new LeafmillError('a plug-in needs a name', { file: from });
  }
  for (const key of Object.keys(plugin)) {
    if (!KEYS.has(key)) throw new LeafmillError(`plug-in ${plugin.name}: unknown key ${key}`, { file: from });
  }
  for (const block of plugin.blocks ?? []) {
    if (!block.type || typeof block.match !== 'function' || typeof block.render !== 'function') {
      throw new LeafmillError(`plug-in ${plugin.name}: a block needs type, match and render`, { file: from });
    }
  }
  for (const hook of ['afterPage', 'afterSite']) {
    if (hook in plugin && typeof plugin[hook] !== 'function') {
      throw new LeafmillError(`plug-in ${plugin.name}: ${hook} must be a function`, { file: from });
    }
  }
  return plugin;
}

export class Plugins {
  constructor(list = []) {
    this.list = list.map((plugin) => checkPlugin(plugin));
    this.renderers = new Map();
    for (const plugin of this.list) {
      for (const block of plugin.blocks ?? []) {
        if (this.renderers.has(block.type)) {
          throw new LeafmillError(`plug-in ${plugin.name}: block ${block.type} is taken`);
        }
        this.renderers.set(block.type, block);
      }
    }
  }

  /** The block a line stands for, if one of the plug-ins knows it. */
  match(line) {
    for (const [type, block] of this.renderers) {
      const fields = block.match(line);
      if (fields !== undefined) return { ...fields, type };
    }
    return undefined;
  }

  render(block, context) {
    return this.renderers.get(block.type)?.render(block, context);
  }

  afterPage(page, context) {
    for (const plugin of this.list) plugin.afterPage?.(page, context);
    return page;
  }

  async afterSite(site) {
    const files = [];
    for (const plugin of this.list) files.push(...((await plugin.afterSite?.(site)) ?? []));
    return files;
  }
}
"""

DISCOVERY = """
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** All plug-ins in the folder `plugins` of a wiki, by name. */
export async function findPlugins(folder) {
  let names;
  try {
    names = await readdir(path.join(folder, 'plugins'));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
  const found = [];
  for (const name of names.filter((item) => item.endsWith('.js')).sort()) {
    const file = path.join(folder, 'plugins', name);
    const module = await import(pathToFileURL(file));
    found.push(checkPlugin(module.default, file));
  }
  return found;
}
"""

PLUGIN_TEST = """
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';

import { Plugins, checkPlugin } from '../src/plugins.js';
import { renderPage } from '../src/render.js';
import { build } from '../src/site.js';

const shout = {
  name: 'shout',
  blocks: [{
    type: 'shout',
    match: (line) => (line.startsWith('!!') ? { text: line.slice(2).trim() } : undefined),
    render: (block) => `<p class="shout">${block.text.toUpperCase()}</p>`,
  }],
  afterPage: (page) => { page.html += '\\n<!-- shouted -->'; },
  afterSite: (site) => [{ path: 'shout.txt', text: site.pages.map((page) => page.title).join() }],
};

describe('plug-ins', () => {
  it('add blocks', () => assert.equal(
    renderPage('a\\n!! hey\\nb', { plugins: new Plugins([shout]) }).html,
    '<p>a</p>\\n<p class="shout">HEY</p>\\n<p>b</p>\\n<!-- shouted -->',
  ));
  it('add blocks within quotes', () => assert.match(
    renderPage('> !! hey', { plugins: new Plugins([shout]) }).html, /<blockquote>\\n<p class="shout">HEY/,
  ));
  it('do not see code', () => assert.doesNotMatch(
    renderPage('```\\n!! hey\\n```', { plugins: new Plugins([shout]) }).html, /class="shout"/,
  ));
  it('write files', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'leafmill-'));
    await mkdir(path.join(root, 'wiki'));
    await writeFile(path.join(root, 'wiki', 'a.wiki'), '# A');
    await build(path.join(root, 'wiki'), path.join(root, 'public'), { plugins: [shout] });
    assert.equal(await readFile(path.join(root, 'public', 'shout.txt'), 'utf8'), 'A');
  });
  it('run in their order', () => {
    const add = (name) => ({ name, afterPage: (page) => { page.html += name; } });
    assert.match(renderPage('x', { plugins: new Plugins([add('one'), add('two')]) }).html, /onetwo$/);
  });
  it('cannot take a block twice', () => assert.throws(() => new Plugins([shout, { ...shout, name: 'b' }]), /block shout is taken/));
  for (const bad of [null, {}, { name: '' }, { name: 'x', hooks: 1 }, { name: 'x', blocks: [{}] }, { name: 'x', afterPage: 1 }]) {
    it(`are checked: ${JSON.stringify(bad)}`, () => assert.throws(() => checkPlugin(bad), { name: 'LeafmillError' }));
  }
});
"""

TOC_JS = """
// [[_TOC_]] alone in a line becomes a table of contents.

import { escapeHtml } from '../text.js';

// NUL cannot come from a page: loading refuses it, see parseBlocks
const MARK = '\\u0000toc\\u0000';

""" + PARTS["toc"].rstrip("\n") + """

export default {
  name: 'toc',
  blocks: [{
    type: 'toc',
    match: (line) => (line.trim() === '[[_TOC_]]' ? {} : undefined),
    // the headings are only known when the page is done
    render: () => MARK,
  }],
  afterPage(page, context) {
    page.html = page.html.replaceAll(MARK, `<nav class="toc">${renderToc(buildToc(context.headings))}</nav>`);
  },
};
"""

ESCAPE_TEST = """
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, it } from 'node:test';

import { inside } from '../src/files.js';
import { build } from '../src/site.js';

let root;
let folder;
let output;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'leafmill-'));
  folder = path.join(root, 'wiki');
  output = path.join(root, 'public');
  await mkdir(path.join(folder, 'files'), { recursive: true });
  await mkdir(path.join(root, 'wiki-private'));
  await writeFile(path.join(root, 'secret.txt'), 'secret');
  await writeFile(path.join(root, 'wiki-private', 'secret.txt'), 'secret');
});

const page = (text, name = 'a.wiki') => writeFile(path.join(folder, name), text);

describe('a page cannot be written outside of the output', () => {
  for (const slug of ['../evil', '../../evil', '/evil', 'a/../../evil', '..', '../public-evil/x', 'a\\\\b', '']) {
    it(`slug ${JSON.stringify(slug)}`, async () => {
      await page(`---\\nslug: "${slug}"\\n---\\nx`);
      await assert.rejects(build(folder, output), /a\\.wiki: bad slug/);
      assert.deepEqual((await readdir(root)).sort(), ['secret.txt', 'wiki', 'wiki-private']);
    });
  }
  it('a list is no slug', async () => {
    await page('---\\nslug: [a, b]\\n---\\nx');
    await assert.rejects(build(folder, output), /bad slug/);
  });
  it('good slugs work', async () => {
    await page('---\\nslug: why-not_2.0\\n---\\nx');
    await build(folder, output);
    assert.ok((await readdir(output)).includes('why-not_2.0.html'));
  });
});

describe('an attachment cannot come from outside of the wiki', () => {
  for (const name of ['../../secret.txt', '../../wiki-private/secret.txt', '/etc/hostname', 'x/../../../secret.txt']) {
    it(name, async () => {
      await page(`![[${name}]]`);
      const report = await build(folder, output);
      assert.deepEqual(report.missingFiles, [name]);
      assert.deepEqual((await readdir(output)).sort(), ['a.html', 'search.json']);
    });
  }
  it('not by a symbolic link either', async () => {
    await symlink(path.join(root, 'secret.txt'), path.join(folder, 'files', 'link.txt'));
    await page('![[link.txt]]');
    assert.deepEqual((await build(folder, output)).missingFiles, ['link.txt']);
  });
  it('a link within the attachments is fine', async () => {
    await writeFile(path.join(folder, 'files', 'real.txt'), 'hello');
    await symlink('real.txt', path.join(folder, 'files', 'link.txt'));
    await page('![[link.txt]]');
    assert.deepEqual((await build(folder, output)).missingFiles, []);
    assert.equal(await readFile(path.join(output, 'files', 'link.txt'), 'utf8'), 'hello');
  });
});

describe('the configuration of a wiki cannot point outside', () => {
  for (const [key, value] of [['template', '../secret.txt'], ['attachments', '..'], ['attachments', '../wiki-private'], ['template', '/etc/hostname']]) {
    it(`${key} ${value}`, async () => {
      await writeFile(path.join(folder, 'leafmill.json'), JSON.stringify({ [key]: value }));
      await page('![[secret.txt]]');
      await assert.rejects(build(folder, output), /must be within the wiki/);
    });
  }
});

describe('a plug-in cannot write outside of the output', () => {
  for (const target of ['../x.txt', '/x.txt', 'a/../../x.txt']) {
    it(target, async () => {
      await page('x');
      const plugins = [{ name: 'x', afterSite: () => [{ path: target, text: 'x' }] }];
      await assert.rejects(build(folder, output, { plugins }), /a plug-in wants to write/);
    });
  }
});

describe('inside', () => {
  for (const [wanted, parts] of [[true, ['a']], [true, ['a', '..', 'b']], [true, ['..a']], [false, ['..']], [false, ['..', 'base-b']], [false, ['/etc']], [true, []]]) {
    it(`${parts.join('/') || '(itself)'}: ${wanted}`, () => assert.equal(inside('/x/base', ...parts) !== undefined, wanted));
  }
});
"""

PLUGIN_DOC = """
# Plug-ins

A plug-in is a module whose default export is a plain object:

    export default {
      name: 'callout',
      blocks: [{ type, match(line), render(block, context) }],
      afterPage(page, context) { page.html = ...; },
      afterSite(site) { return [{ path, text }]; },
    };

All but `name` may be left out. Plug-ins are named when leafmill is called, and
run in that order, after the two that come with it (`toc`, `search`):

    leafmill build wiki/ public/ --plugin ./examples/callout.js

They are **not** looked for in the wiki, and cannot be named in its
`leafmill.json`: whoever can write pages must not be able to run code.

## blocks

`match` is asked for every line that is not within code. It gives an object with
the fields of the block or `undefined`. `render` gives HTML and has to escape
what it puts in (`escapeHtml` in `src/text.js`).

## afterPage

`page` has `html`, `title`, `headings`, `links`, `attachments`, `data`. Called
when the whole page is rendered.

## afterSite

`site` has `pages` and `config`. The files are written to the output; their
paths must stay within it.
"""


def rewrite(s: Session, path: str, *changes: tuple[str, str]) -> str:
    """Write a file anew with some places changed, as an agent does when there are many of them."""
    text = (s.workdir / path).read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, (path, old)
        text = text.replace(old, new)
    return s.write(path, text)


def script(s: Session) -> None:
    s.user("""
Hi. src/render.js has become the file everybody has a merge conflict in, and Tomas wants callout boxes, Lena wants footnotes,
and both would go in there, too. So, two things:

1. split render.js into modules that make sense
2. a plug-in interface, such that the table of contents and the search index become plug-ins and new things don't touch the core

Conditions: no dependencies, no build step, plain ES modules on Node 20. What comes out for an existing wiki has to stay byte for byte the same.
Existing tests stay as they are while you split. Look around first and tell me how you'd cut it, before you cut it.
""")
    s.say("I look at the whole project first; it is small.")
    s.parallel(lambda: [s.bash("git log --oneline; git status --short; node -v; npm -v; cat package.json; wc -l src/*.js test/*.js; ls -R test/wiki"), s.read("README.md"), s.read("docs/architecture.md")])
    s.read("src/render.js")
    s.parallel(lambda: [s.read("src/site.js"), s.read("src/template.js"), s.read("src/search.js"), s.read("src/config.js"), s.read("src/cli.js")])
    s.bash("npm test 2>&1 | tail -110")
    s.parallel(lambda: [s.bash("cat -n test/render.test.js test/toc.test.js"), s.bash("cat -n test/site.test.js test/wiki/*.wiki test/wiki/*/*.wiki")])
    s.bash("grep -rn \"render.js\" src test bin docs; grep -nE '^export' src/*.js")
    s.say("""
Here is how I would cut it. `render.js` has six parts, already marked by comments, and their dependencies go one way:

| new module | from | needs |
|---|---|---|
| `src/text.js` | escapeHtml, slugify, Slugger | – |
| `src/markup/frontmatter.js` | parseFrontMatter | errors |
| `src/markup/blocks.js` | parseBlocks | errors |
| `src/markup/inline.js` | renderInline, plainText | text |
| `src/markup/html.js` | renderBlocks, renderPage, makeContext | all of the above |
| `src/plugins/toc.js` | buildToc, renderToc | text (step 2) |

`render.js` stays as a list of re-exports as long as the tests are to stay untouched. `text.js` is not under `markup/`, because `template.js` needs `escapeHtml` and has nothing to do with markup.

For the byte-for-byte condition I build the example wiki with the code as it is, keep the result, and compare after every step.

The plug-in interface I would design after the split and not together with it; three forms seem possible, I'll come with a proposal. Shall I begin?""")
    s.user("Yes, go. Table looks right to me. Keep render.js as the list of re-exports for now. Commit after the split so that Tomas can rebase.")
    s.bash("node bin/leafmill.js build test/wiki .before && find .before -type f | sort | xargs sha256sum && echo .before > .git/info/exclude && git status --short && cat .before/home.html .before/guides/pruning.html")
    s.say("The reference is there, ignored by git for this clone only. Now the modules, leaves first.")
    s.parallel(lambda: [s.write("src/text.js", TEXT), s.write("src/markup/frontmatter.js", FRONT)])
    s.parallel(lambda: [s.write("src/markup/blocks.js", BLOCKS), s.write("src/markup/inline.js", INLINE)])
    s.parallel(lambda: [s.write("src/markup/html.js", HTML), s.write("src/render.js", FACADE)])
    s.bash("npm test 2>&1 | tail -60")
    s.say("I forgot `Slugger` in the list of re-exports; the test imports it. That also tells me the list should be checked against the old exports and not against my memory:")
    s.edit("src/render.js", "export { escapeHtml, slugify } from", "export { Slugger, escapeHtml, slugify } from")
    s.bash("""diff <(git show HEAD:src/render.js | grep -oE '^export (async )?(function|class|const) \\w+' | awk '{print $NF}' | sort) <(node -e "import('./src/render.js').then((m) => console.log(Object.keys(m).sort().join('\\n')))" | sort) && echo same exports""")
    s.bash("npm test 2>&1 | tail -105; node bin/leafmill.js build test/wiki .after && diff -r .before .after && echo identical; rm -r .after")
    s.say("68 tests green, the same exports, identical output. `template.js` and `site.js` still import through `render.js`; within `src` I'd rather have the real addresses.")
    s.parallel(lambda: [
        s.edit("src/template.js", "import { escapeHtml } from './render.js';\nimport { LeafmillError } from './errors.js';\n", "import { LeafmillError } from './errors.js';\nimport { escapeHtml } from './text.js';\n"),
        s.edit("src/site.js", "import { parseFrontMatter, renderPage, slugify } from './render.js';\nimport { buildIndex } from './search.js';\nimport { DEFAULT_TEMPLATE, fill } from './template.js';\n", "import { parseFrontMatter } from './markup/frontmatter.js';\nimport { renderPage } from './markup/html.js';\nimport { buildIndex } from './search.js';\nimport { DEFAULT_TEMPLATE, fill } from './template.js';\nimport { slugify } from './text.js';\n"),
    ])
    s.bash("npm test 2>&1 | tail -9 && git add -A && git commit -q -m 'Split render.js into text.js and markup/' -m 'No change in behaviour: the same exports through render.js, the same output.' && git log --stat --format='%h %s' -1")
    s.say("""
The split is committed. Now the plug-in interface; three forms:

**A. Classes.** `class Toc extends Plugin { block() {} }`. Familiar, but the base class becomes something everybody depends on, and a plug-in in another repository needs to import it from us.

**B. Functions that get an API object.** `export default (leafmill) => { leafmill.addBlock(...) }`. Flexible; but what a plug-in does is only known after running it, so we can neither check it nor list it.

**C. Plain objects with optional hooks.** `export default { name, blocks, afterPage, afterSite }`. Can be checked when loaded, no import from us necessary, order is the order of the list. Less flexible: nobody can hook where there is no hook.

I recommend C. Hooks to begin with: `blocks` (new kinds of lines), `afterPage`, `afterSite` (extra files). No inline hook yet: the inline parser is one regular expression, and two plug-ins that add to it would depend on each other's order in ways nobody can see. Lena's footnotes can be done with `afterPage`, or we add a hook when there is a real case.

Question: where do plug-ins come from?""")
    s.user("""
C, and agreed on leaving inline alone. Where from: make it simple, every .js file in a `plugins/` folder of the wiki is loaded, alphabetical. No configuration needed, people drop a file in.
toc and search are built in and on by default.
""")
    s.say("Good. The registry first, with its tests; nothing uses it yet.")
    s.parallel(lambda: [s.write("src/plugins.js", PLUGIN_JS), s.write("test/plugins.test.js", PLUGIN_TEST)])
    s.say("Now `parseBlocks` and `html.js` have to ask the registry. I look at the places again, with line numbers.")
    s.bash("grep -n 'toc\\|TOC\\|parseBlocks\\|context' src/markup/blocks.js src/markup/html.js")
    s.say("""
The order of work matters here. I take the table of contents out of the core *first* and put the plug-in in afterwards, so that I see from red tests that the core really does not know it any more. That means two tests of `toc.test.js` ("has nested levels", "uses the ids of equal headings") are red in between. I won't commit in that state.""")
    s.parallel(lambda: [
        rewrite(
            s,
            "src/markup/blocks.js",
            ("    if (line.trim() === '[[_TOC_]]') {\n      flush();\n      blocks.push({ type: 'toc' });\n      index += 1;\n      continue;\n    }\n", "    const special = plugins?.match(line);\n    if (special) {\n      flush();\n      blocks.push(special);\n      index += 1;\n      continue;\n    }\n"),
            ("export function parseBlocks(text, file) {", "export function parseBlocks(text, file, plugins) {"),
            ("parseBlocks(quoted.join('\\n'), file)", "parseBlocks(quoted.join('\\n'), file, plugins)"),
        ),
        s.edit("src/markup/html.js", PARTS["toc"], ""),
        s.edit("src/markup/html.js", "    case 'toc':\n      return '\\u0000toc\\u0000';\n    default:\n      throw new Error(`unknown block ${block.type}`);\n", "    default: {\n      const html = context.plugins?.render(block, context);\n      if (html === undefined) throw new Error(`unknown block ${block.type}`);\n      return html;\n    }\n"),
    ])
    s.read("src/markup/html.js", offset=55, limit=50)
    s.parallel(lambda: [
        rewrite(
            s,
            "src/markup/html.js",
            ("export function makeContext({ resolve = () => undefined, attachmentBase = 'files/' } = {}) {\n  return { resolve, attachmentBase, links: [], attachments: [], headings: [], slugger: new Slugger() };\n}", "export function makeContext({ resolve = () => undefined, attachmentBase = 'files/', plugins } = {}) {\n  return { resolve, attachmentBase, plugins, links: [], attachments: [], headings: [], slugger: new Slugger() };\n}"),
            ("  const blocks = parseBlocks(body, options.file);\n  let html = renderBlocks(blocks, context);\n  const toc = `<nav class=\"toc\">${renderToc(buildToc(context.headings))}</nav>`;\n  html = html.replaceAll('\\u0000toc\\u0000', toc);\n", "  const blocks = parseBlocks(body, options.file, context.plugins);\n  const html = renderBlocks(blocks, context);\n"),
            ("  return {\n    data,\n    html,\n", "  const page = {\n    data,\n    html,\n"),
            ("    words: blocks.map((block) => plainText(block.text ?? '')).join(' '),\n  };\n", "    words: blocks.map((block) => plainText(block.text ?? '')).join(' '),\n  };\n  return context.plugins ? context.plugins.afterPage(page, context) : page;\n"),
        ),
        s.edit("src/render.js", "export { buildToc, makeContext, renderBlocks, renderPage, renderToc } from './markup/html.js';", "export { makeContext, renderBlocks, renderPage } from './markup/html.js';"),
    ])
    s.bash("npm test 2>&1")
    s.say("""
Red, as announced: the two of `toc.test.js`. And one more that I had not announced, "plug-ins: write files", since `build` takes no plug-ins yet. The comparison of outputs would fail as well, the example has a table of contents. Next: the two built-in plug-ins. The search index is moved with its history.""")
    s.bash("mkdir -p src/plugins && git mv src/search.js src/plugins/search.js && git status --short")
    s.write("src/plugins/toc.js", TOC_JS)
    s.say("That comment about NUL claims something that is not true yet; before I leave it there I check what a NUL in a page does.")
    s.bash("""node -e "
import('./src/plugins/toc.js').then(async ({ default: toc }) => {
  const { Plugins } = await import('./src/plugins.js');
  const { renderPage } = await import('./src/render.js');
  console.log(JSON.stringify(renderPage('# A\\n\\nx \\u0000toc\\u0000 y', { plugins: new Plugins([toc]) }).html));
})" """)
    s.say("A page can forge the mark (before my change as well). Harmless here, it just gets a table of contents, but invalid HTML within a paragraph. I make the comment true: `parseBlocks` replaces NUL by U+FFFD, as HTML parsers do. For pages without NUL, which is all of them, nothing changes.")
    s.parallel(lambda: [
        s.edit("src/markup/blocks.js", "  const lines = text.split('\\n');\n", "  // plug-ins use NUL for marks of their own\n  const lines = text.replaceAll('\\u0000', '\\ufffd').split('\\n');\n"),
        s.edit("src/plugins/toc.js", "// NUL cannot come from a page: loading refuses it, see parseBlocks\n", "// cannot come from a page: parseBlocks replaces NUL\n"),
        s.edit("src/plugins/search.js", "// The search index: which page has which words.\n", "// The search index: which page has which words, in search.json.\n"),
    ])
    s.bash("""cat >> src/plugins/search.js <<'JS'

export default {
  name: 'search',
  afterSite(site) {
    if (!site.config.search) return [];
    return [{ path: 'search.json', text: `${JSON.stringify(buildIndex(site.pages))}\\n` }];
  },
};
JS
cat > src/plugins/builtin.js <<'JS'
// The plug-ins that are always there, in this order.

import search from './search.js';
import toc from './toc.js';

export const BUILTIN = [toc, search];
JS
tail -22 src/plugins/search.js""")
    rewrite(
            s,
            "src/site.js",
            ("import { buildIndex } from './search.js';\n", "import { Plugins, findPlugins } from './plugins.js';\nimport { BUILTIN } from './plugins/builtin.js';\n"),
            ("export async function build(folder, output) {\n  const config = await loadConfig(folder);\n", "export async function build(folder, output, { plugins: more = [] } = {}) {\n  const config = await loadConfig(folder);\n  const plugins = new Plugins([...BUILTIN, ...(await findPlugins(folder)), ...more]);\n"),
            ("      attachmentBase: `${up}${config.attachments}/`,\n", "      attachmentBase: `${up}${config.attachments}/`,\n      plugins,\n"),
            ("  if (config.search) {\n    await mkdir(output, { recursive: true });\n    await writeFile(path.join(output, 'search.json'), `${JSON.stringify(buildIndex(pages))}\\n`);\n  }\n", "  for (const file of await plugins.afterSite({ pages, config })) {\n    const target = path.join(output, file.path);\n    await mkdir(path.dirname(target), { recursive: true });\n    await writeFile(target, file.text);\n  }\n"),
        )
    s.bash("cat >> src/plugins.js <<'JS'\n" + DISCOVERY.split("\n\n", 1)[1].rstrip("\n") + "\nJS\nsed -i \"s#^import { LeafmillError } from './errors.js';#import { readdir } from 'node:fs/promises';\\nimport path from 'node:path';\\nimport { pathToFileURL } from 'node:url';\\n\\nimport { LeafmillError } from './errors.js';#\" src/plugins.js && npm test 2>&1 | grep -vE '^ *✔'")
    s.say("""
"Write files" is green. The two of the table of contents are still red, and they are right: they call `renderPage(text)` without plug-ins, and the table of contents is "on by default", you said. So the default belongs into `renderPage`, not only into `build`: without `plugins` it takes the built-in ones.""")
    s.parallel(lambda: [
        s.edit("src/markup/html.js", "export function renderPage(text, options = {}) {\n", "export function renderPage(text, options = {}) {\n  options = { plugins: DEFAULT_PLUGINS, ...options };\n"),
        s.edit("src/markup/html.js", "import { plainText, renderInline } from './inline.js';\n", "import { plainText, renderInline } from './inline.js';\nimport { Plugins } from '../plugins.js';\nimport { BUILTIN } from '../plugins/builtin.js';\n\nconst DEFAULT_PLUGINS = new Plugins(BUILTIN);\n"),
    ])
    s.bash("npm test 2>&1 | tail -125; node bin/leafmill.js build test/wiki .after && diff -r .before .after && echo identical; rm -rf .after")
    s.say("All green, the two included, and the example's output is identical to the one from before the split. A test for the folder, then I'd commit.")
    s.edit("test/plugins.test.js", "  it('run in their order', () => {", """  it('are found in the folder of the wiki', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'leafmill-'));
    await mkdir(path.join(root, 'wiki', 'plugins'), { recursive: true });
    await writeFile(path.join(root, 'wiki', 'a.wiki'), '# A');
    await writeFile(path.join(root, 'wiki', 'plugins', 'x.js'), "export default { name: 'x', afterSite: () => [{ path: 'x.txt', text: 'x' }] };");
    await writeFile(path.join(root, 'wiki', 'package.json'), '{"type": "module"}');
    await build(path.join(root, 'wiki'), path.join(root, 'public'));
    assert.equal(await readFile(path.join(root, 'public', 'x.txt'), 'utf8'), 'x');
  });
  it('run in their order', () => {""")
    s.bash("node --test --test-reporter=spec test/plugins.test.js 2>&1 | tail -40")
    s.user("""
Stop before you commit that, I have to take something back. I showed it to Ines, she runs the docs pipeline. Her CI builds wikis from pull requests of
people outside of the company. A plugins/ folder in the wiki that is loaded automatically = anybody with a pull request runs code on her runner. So no
auto-loading. Instead list the plug-ins explicitly in leafmill.json.
""")
    s.think("leafmill.json lives in the wiki folder, so an outsider can change it in a PR as well. Same hole. Say it. Command line is the trusted place.")
    s.say("""
Ines is right, and I should have raised that when you asked for the folder. But I think the list in `leafmill.json` has the same hole: that file is *in the wiki's folder*, so the pull request that adds `evil.js` adds the line to `leafmill.json` as well.

What the outsider does not control is how leafmill is called. So: `leafmill build wiki/ public/ --plugin ./callout.js`, may be given several times, run in that order, paths relative to the working directory. If somebody needs it in a file, the pipeline has one (a package.json script, say) that is not part of the wiki. OK like that?""")
    s.user("Yes, you're right, same thing. Command line then, no list in leafmill.json. And write into the docs why, so that nobody \"improves\" it next year.")
    s.bash("""python3 - <<'PY'
from pathlib import Path
p = Path("src/plugins.js"); s = p.read_text()
start = s.index("/** All plug-ins in the folder")
s = s[:start] + '''/** Load the modules named on the command line. Never from a wiki: see docs/plugins.md. */
export async function loadPlugins(files) {
  const found = [];
  for (const file of files) {
    let module;
    try {
      module = await import(pathToFileURL(path.resolve(file)));
    } catch (error) {
      if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
      throw new LeafmillError('no such plug-in', { file });
    }
    found.push(checkPlugin(module.default, file));
  }
  return found;
}
'''
s = s.replace("import { readdir } from 'node:fs/promises';\\n", "")
p.write_text(s)
p = Path("src/site.js"); s = p.read_text()
s = s.replace("import { Plugins, findPlugins } from", "import { Plugins } from").replace("...(await findPlugins(folder)), ", "")
p.write_text(s)
PY
git diff HEAD --stat; grep -n "findPlugins" -r src test""")
    s.edit("src/cli.js", """const USAGE = 'usage: leafmill build FOLDER OUTPUT';

export async function main(args, { log = console.log, warn = console.error } = {}) {
  const [command, folder, output, ...rest] = args;
  if (command !== 'build' || !folder || !output || rest.length > 0) {
    warn(USAGE);
    return 2;
  }
  try {
    const report = await build(folder, output);
""", """const USAGE = 'usage: leafmill build FOLDER OUTPUT [--plugin FILE]...';

function parse(args) {
  const options = { plugin: { type: 'string', multiple: true, default: [] } };
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch {
    return { positionals: [], values: {} };
  }
}

export async function main(args, { log = console.log, warn = console.error } = {}) {
  const { positionals, values } = parse(args);
  const [command, folder, output, ...rest] = positionals;
  if (command !== 'build' || !folder || !output || rest.length > 0) {
    warn(USAGE);
    return 2;
  }
  try {
    const plugins = await loadPlugins(values.plugin);
    const report = await build(folder, output, { plugins });
""")
    s.edit("src/cli.js", "import { LeafmillError } from './errors.js';\n", "import { parseArgs } from 'node:util';\n\nimport { LeafmillError } from './errors.js';\nimport { loadPlugins } from './plugins.js';\n")
    s.bash("""python3 - <<'PY'
from pathlib import Path
p = Path("test/plugins.test.js"); s = p.read_text()
start = s.index("  it('are found in the folder of the wiki'"); end = s.index("  it('run in their order'")
s = s[:start] + '''  it('in the folder of a wiki are not loaded', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'leafmill-'));
    await mkdir(path.join(root, 'wiki', 'plugins'), { recursive: true });
    await writeFile(path.join(root, 'wiki', 'a.wiki'), '# A');
    await writeFile(path.join(root, 'wiki', 'plugins', 'x.js'), 'globalThis.loaded = true; export default { name: "x" };');
    await build(path.join(root, 'wiki'), path.join(root, 'public'));
    assert.equal(globalThis.loaded, undefined);
  });
  it('cannot be named by the wiki', () => assert.throws(() => checkConfig({ plugins: ['x.js'] }), /unknown key plugins/));
  it('are named on the command line', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'leafmill-'));
    await mkdir(path.join(root, 'wiki'));
    await writeFile(path.join(root, 'wiki', 'a.wiki'), '!!! note Mind the gap');
    const lines = [];
    const io = { log: (line) => lines.push(line), warn: (line) => lines.push(line) };
    const args = ['build', path.join(root, 'wiki'), path.join(root, 'public'), '--plugin'];
    assert.equal(await main([...args, CALLOUT], io), 0);
    assert.match(await readFile(path.join(root, 'public', 'a.html'), 'utf8'), /<aside class="callout note">/);
    assert.equal(await main([...args, 'no-such.js'], io), 1);
    assert.equal(lines.at(-1), 'leafmill: no-such.js: no such plug-in');
  });
''' + s[end:]
s = s.replace("import { describe, it } from 'node:test';\\n", "import { describe, it } from 'node:test';\\nimport { fileURLToPath } from 'node:url';\\n")
s = s.replace("import { Plugins, checkPlugin }", "import { main } from '../src/cli.js';\\nimport { checkConfig } from '../src/config.js';\\nimport { Plugins, checkPlugin }")
s = s.replace("const shout = {", "const CALLOUT = fileURLToPath(new URL('../examples/callout.js', import.meta.url));\\n\\nconst shout = {", 1)
p.write_text(s)
PY
npm test 2>&1 | grep -vE '^ *✔' | tail -50""")
    s.say("One red, and for a reason that is on my list: `examples/callout.js` does not exist yet. It is Tomas's callout box, as a first plug-in from outside of the core, and at the same time the proof that the interface is enough for it.")
    s.write("examples/callout.js", """
// Callout boxes:   !!! note Mind the gap

import { escapeHtml } from '../src/text.js';

const LINE = /^!!!\\s+(note|warning|tip)\\s+(.+)$/;

export default {
  name: 'callout',
  blocks: [{
    type: 'callout',
    match(line) {
      const found = LINE.exec(line);
      return found ? { kind: found[1], text: found[2] } : undefined;
    },
    render: ({ kind, text }) => `<aside class="callout ${kind}"><p>${escapeHtml(text)}</p></aside>`,
  }],
};
""")
    s.bash("npm test 2>&1 | tail -125; node bin/leafmill.js build test/wiki .after && diff -r .before .after && echo identical; rm -rf .after")
    s.say("Green and identical. One limit shows at once: the text of a callout is escaped, so `**bold**` in it stays as it is; a plug-in has no way to call `renderInline` but to import it from `src/markup/inline.js`. I note that as an open point. Documents, then commit.")
    s.write("docs/plugins.md", PLUGIN_DOC)
    s.write("docs/architecture.md", """
# How leafmill works

    cli.js -> plugins.js           loads what --plugin names
           -> site.js -> markup/html.js -> markup/frontmatter.js
                                        -> markup/blocks.js
                                        -> markup/inline.js
                      -> plugins/toc.js, plugins/search.js
                      -> template.js

`site.js` loads all pages, finds out where each of them goes, renders them one
after the other and writes the files.

- `text.js`: escaping and slugs. Used by everything, uses nothing.
- `markup/blocks.js`: from lines to blocks. Knows nothing of HTML.
- `markup/inline.js`: markup within a line.
- `markup/html.js`: from blocks to HTML; `renderPage` puts it all together.
- `plugins.js`: the registry, see [plugins.md](plugins.md).
- `render.js`: re-exports, for those who import from the old address.

A page is rendered without knowing of the others, except that a link asks
`context.resolve(name)` for the address of a page. Links to pages that do not
exist get the class `missing`.
""")
    s.bash("""sed -i 's#^    leafmill build wiki/ public/$#    leafmill build wiki/ public/ [--plugin FILE]...#' README.md && git add -A && git diff --cached -M src test/plugins.test.js && git commit -q -m 'Plug-ins: plain objects with hooks; toc and search are plug-ins now' -m 'Named on the command line only. A wiki cannot bring or name plug-ins: whoever can write pages must not be able to run code.' && git log --stat --format='%h %s' -1 -M""")
    s.user("""
Very good. Now the other half of Ines's point. Please review the code as if it were a colleague's pull request, everything, not only your part, with one
question in mind: what can somebody do who writes pages, attachments and leafmill.json, but cannot change how leafmill is called?
Findings first, no fixes yet. And show me, don't just claim.
""")
    s.say("I read the places where something from a wiki becomes a path, a URL, HTML or code.")
    s.parallel(lambda: [s.read("src/site.js"), s.read("src/markup/frontmatter.js"), s.read("src/config.js"), s.read("src/markup/inline.js"), s.bash("cat -n src/markup/html.js src/markup/blocks.js"), s.bash("cat -n src/plugins.js src/cli.js src/plugins/toc.js")])
    s.bash("grep -nE 'path\\.join|readFile|writeFile|copyFile|import\\(|href=|src=|RegExp|data\\.' -r src")
    s.say("Several candidates. I build a wiki in a scratch folder that tries each of them, next to a file that must not get out.")
    s.bash("""set -u; cd "$(mktemp -d)" && mkdir -p site/wiki/files deep && echo 'top secret' > secret.txt && cd site
printf -- '---\\nslug: ../../deep/written-outside\\n---\\n# Evil page\\n' > wiki/a.wiki
printf '![[../../../secret.txt]] and ![[link.txt]]\\n' > wiki/b.wiki
ln -s ../../../secret.txt wiki/files/link.txt
node /srv/wiki_export/bin/leafmill.js build wiki public; cd .. && find . -type f | sort; echo; cat site/public/files/link.txt; grep -rl 'top secret' . | sort""")
    s.bash("""set -u; cd "$(mktemp -d)" && mkdir -p site/wiki && echo 'top secret' > secret.txt && cd site
echo '# A' > wiki/a.wiki; echo '{"template": "../../secret.txt"}' > wiki/leafmill.json
node /srv/wiki_export/bin/leafmill.js build wiki public; cat public/a.html
echo '{"attachments": "../.."}' > wiki/leafmill.json; echo '![[secret.txt]]' > wiki/a.wiki
node /srv/wiki_export/bin/leafmill.js build wiki public2; find . .. -name 'secret.txt' | sort
echo '{}' > wiki/leafmill.json; printf -- '---\\nslug: [x, y]\\n---\\n![[a b.png]] [[A|<b>]] [x](data:text/html,hi) [y](.%%0ajavascript:1)' > wiki/a.wiki
node /srv/wiki_export/bin/leafmill.js build wiki public3; find public3 -type f; sed -n '/<main>/,/main>/p' public3/*.html""")
    s.say("""
Findings, worst first. 1 to 5 and 8 I have just shown, 6 and 7 come from reading:

1. **Writing outside of the output (high).** `slug: ../../deep/written-outside` in front matter wrote `deep/written-outside.html` two levels above. `addressOf` takes `data.slug` as it is, `path.join` resolves the dots. On a runner that means: overwrite any `.html` the user may write, or make one in a folder that is published.
2. **Reading outside of the wiki (high).** `![[../../../secret.txt]]` copies a file from anywhere, and for the same reason *to* anywhere (`output/files/../../..`). In the example source and target are the same file, as wiki and output lie side by side; it was not reported as missing, so it was read. What the runner can read, an outsider can have published.
3. **The same by symbolic link (high).** git keeps symbolic links, so a pull request can bring `files/link.txt -> ../../../secret.txt`. `copyFile` follows it.
4. **`template` and `attachments` in leafmill.json (high).** Both are joined without a check; `template: "../../secret.txt"` prints the file as every page.
5. **A slug that is a list (low).** `slug: [x, y]` gives a file `x,y.html`. No harm, but nobody checks the type.
6. **Plug-in files (low, mine).** `afterSite` may return `path: '../x'`. Plug-ins are trusted, but a plug-in that builds paths from titles hands the hole on. I wrote "their paths must stay within it" in the docs and nothing enforces it.
7. **`escapeHtml` leaves `'` alone (note).** All our attributes use double quotes, so nothing follows today. It does as soon as a plug-in or template writes `title='...'`.
8. **Names with blanks in `src`/`href` (note).** `files/a b.png` is not encoded. Ugly, not dangerous.

No finding: HTML in pages is escaped everywhere I looked, `safeUrl` refuses `javascript:` and `data:`, `JSON.parse` without prototype games (`KINDS` is looked up with `in`... which says yes to `constructor`; then `typeof value !== KINDS[key]` refuses it, so no effect).

Proposal: one function `inside(root, ...parts)` in `src/files.js` that gives the path or `undefined`, used in every place of 1-4 and 6; plus `realpath` for links. Two questions: should a bad slug stop the build or be reported? And symbolic links that stay *within* the wiki: allow?""")
    s.user("""
That's exactly what I wanted, thanks. Bad slug: stop the build, with the file's name. Bad attachment: treat like a missing one, the report shows it already.
Links within the attachments folder stay allowed, Lena uses them. template/attachments pointing outside: stop.
1-6 in this round, 7 and 8 as issues for later, write them down. Tests first please.
""")
    s.write("test/escape.test.js", ESCAPE_TEST)
    s.say("The module with a stub of `inside`, so that the tests run and fail for the right reason and not at the import:")
    s.write("src/files.js", "import path from 'node:path';\n\nexport function inside(root, ...parts) {\n  return path.join(root, ...parts);\n}\n")
    s.bash("node --test --test-reporter=spec test/escape.test.js 2>&1 | awk '/failing tests/{exit} {print}'")
    s.say("The attack tests are red, but for the attachment `/etc/hostname`: `path.join` makes a name below the folder of it, so that one was never open. The tests of what must go on working are green. Now the real one. Slugs get a whitelist instead of a path check: a slug is one part of an address, so letters, digits, `-`, `_` and `.`, not beginning with a dot.")
    s.write("src/files.js", """
// Paths that come from a wiki must stay in it, and what is made of them in the output.

import { realpath } from 'node:fs/promises';
import path from 'node:path';

/** The path of `parts` below `root`, or undefined if it leads out of it. */
export function inside(root, ...parts) {
  const base = path.resolve(root);
  const full = path.resolve(base, ...parts);
  return full.startsWith(base) ? full : undefined;
}

/** The same for a file that exists, with all symbolic links followed; undefined if there is none. */
export async function realInside(root, ...parts) {
  const full = inside(root, ...parts);
  if (full === undefined) return undefined;
  try {
    const [base, real] = [await realpath(root), await realpath(full)];
    return inside(base, path.relative(base, real)) && real;
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}
""")
    s.parallel(lambda: [
        rewrite(
            s,
            "src/site.js",
            ("  const last = data.slug ?? slugify(path.basename(name, '.wiki'));\n", "  const last = data.slug ?? slugify(path.basename(name, '.wiki'));\n  if (typeof last !== 'string' || !SLUG.test(last)) {\n    throw new LeafmillError(`bad slug ${JSON.stringify(last)}`, { file: name });\n  }\n"),
            ("/** The address of a page,", "/** One part of an address, and no way up. */\nconst SLUG = /^[\\p{L}\\p{N}_-][\\p{L}\\p{N}._-]*$/u;\n\n/** The address of a page,"),
            ("    const source = path.join(folder, config.attachments, name);\n    const target = path.join(output, config.attachments, name);\n    try {\n      await stat(source);\n    } catch {\n      missing.push(name);\n      continue;\n    }\n", "    const source = await realInside(path.join(folder, config.attachments), name);\n    const target = inside(path.join(output, config.attachments), name);\n    if (source === undefined || target === undefined) {\n      missing.push(name);\n      continue;\n    }\n"),
            ("    const target = path.join(output, file.path);\n    await mkdir", "    const target = inside(output, file.path);\n    if (target === undefined) throw new LeafmillError(`a plug-in wants to write ${file.path}`);\n    await mkdir"),
            ("import { copyFile, mkdir, readFile, readdir, stat, writeFile }", "import { copyFile, mkdir, readFile, readdir, writeFile }"),
            ("import { LeafmillError } from './errors.js';\n", "import { LeafmillError } from './errors.js';\nimport { inside, realInside } from './files.js';\n"),
        ),
        rewrite(
            s,
            "src/config.js",
            ("    if (typeof value !== KINDS[key]) throw new LeafmillError(`${key} must be a ${KINDS[key]}`, { file });\n", "    if (typeof value !== KINDS[key]) throw new LeafmillError(`${key} must be a ${KINDS[key]}`, { file });\n    if (PATHS.has(key) && (path.isAbsolute(value) || inside('/wiki', value) === undefined)) {\n      throw new LeafmillError(`${key} must be within the wiki`, { file });\n    }\n"),
            ("const KINDS = {", "const PATHS = new Set(['template', 'attachments']);\n\nconst KINDS = {"),
            ("import { LeafmillError } from './errors.js';\n", "import { LeafmillError } from './errors.js';\nimport { inside } from './files.js';\n"),
        ),
    ])
    s.bash("node --test --test-reporter=spec test/escape.test.js 2>&1")
    s.say("""
Nearly, and what is red is a classic that I walked into: `startsWith(base)` without a separator. `/x/base-b` starts with `/x/base`, so a *sibling* folder whose name begins the same way counts as inside: `../wiki-private` got through as an attachments folder, and `base-b` in the unit test. I had put the sibling into the tests because I know the mistake, and made it all the same.

`path.relative` does not have that problem: inside means that the way from the root does not begin with `..` as a *part* (a file may be called `..a`) and is not absolute.""")
    s.edit("src/files.js", "  return full.startsWith(base) ? full : undefined;\n", "  // not startsWith: /wiki-private starts with /wiki\n  const way = path.relative(base, full);\n  const out = way === '..' || way.startsWith(`..${path.sep}`) || path.isAbsolute(way);\n  return out ? undefined : full;\n")
    s.bash("node --test --test-reporter=spec test/escape.test.js 2>&1 | tail -60")
    s.say("Green. `template` may still be a symbolic link that leads out; the check in `config.js` is about the text only. `readFile(path.join(folder, config.template))` must go through `realInside` as well, and so must the attachments folder itself (`files -> /etc`). And the pages: `x.wiki` as a link to somewhere. Tests for those three:")
    s.bash("""python3 - <<'PY'
from pathlib import Path
p = Path("test/escape.test.js"); s = p.read_text()
s = s.replace("describe('inside', () => {", '''describe('links to the outside', () => {
  it('as template', async () => {
    await symlink(path.join(root, 'secret.txt'), path.join(folder, 't.html'));
    await writeFile(path.join(folder, 'leafmill.json'), '{"template": "t.html"}');
    await page('x');
    await assert.rejects(build(folder, output), /template must be within the wiki/);
  });
  it('as folder of attachments', async () => {
    await symlink(path.join(root, 'wiki-private'), path.join(folder, 'other'));
    await writeFile(path.join(folder, 'leafmill.json'), '{"attachments": "other"}');
    await page('![[secret.txt]]');
    assert.deepEqual((await build(folder, output)).missingFiles, ['secret.txt']);
  });
  it('as page', async () => {
    await symlink(path.join(root, 'secret.txt'), path.join(folder, 'b.wiki'));
    await page('x');
    await assert.rejects(build(folder, output), /b\\\\.wiki: must be within the wiki/);
  });
});

describe('inside', () => {''')
p.write_text(s)
PY
node --test --test-reporter=spec test/escape.test.js 2>&1 | awk '/failing tests/{exit} {print}'""")
    rewrite(
            s,
            "src/site.js",
            ("    const source = await realInside(path.join(folder, config.attachments), name);\n", "    const source = inside(config.attachments, name) && (await realInside(folder, config.attachments, name));\n"),
            ("    const text = await readFile(path.join(folder, name), 'utf8');\n", "    const file = await realInside(folder, name);\n    if (file === undefined) throw new LeafmillError('must be within the wiki', { file: name });\n    const text = await readFile(file, 'utf8');\n"),
            ("  const template = config.template\n    ? await readFile(path.join(folder, config.template), 'utf8')\n    : DEFAULT_TEMPLATE;\n", "  const template = await loadTemplate(folder, config);\n"),
            ("/** Build the site; returns", "async function loadTemplate(folder, config) {\n  if (config.template === undefined) return DEFAULT_TEMPLATE;\n  const file = await realInside(folder, config.template);\n  if (file === undefined) throw new LeafmillError('template must be within the wiki, and exist');\n  return readFile(file, 'utf8');\n}\n\n/** Build the site; returns"),
        )
    s.bash("npm test 2>&1 | tail -175; node bin/leafmill.js build test/wiki .after && diff -r .before .after && echo identical; rm -rf .after")
    s.say("Everything green, the example's output is still identical to the very first one. Now the attack from the review again, the same commands, against the fixed code.")
    s.bash("""set -u; cd "$(mktemp -d)" && mkdir -p site/wiki/files deep && echo 'top secret' > secret.txt && cd site
printf -- '---\\nslug: ../../deep/written-outside\\n---\\n# Evil page\\n' > wiki/a.wiki
node /srv/wiki_export/bin/leafmill.js build wiki public; echo "exit $?"; rm wiki/a.wiki
printf '![[../../../secret.txt]] and ![[link.txt]]\\n' > wiki/b.wiki
ln -s ../../../secret.txt wiki/files/link.txt
node /srv/wiki_export/bin/leafmill.js build wiki public; echo "exit $?"
echo '{"template": "../../secret.txt"}' > wiki/leafmill.json; node /srv/wiki_export/bin/leafmill.js build wiki public2; echo "exit $?"
cd .. && find . -type f | sort; grep -rl 'top secret' . | sort""")
    s.say("Only `secret.txt` itself (and the link to it in the wiki) has the words now. The open points, and what the wiki may and may not do, into the documents.")
    s.bash("""cat > docs/security.md <<'MD'
# What a wiki may do

Whoever writes pages, attachments and `leafmill.json` is not trusted; whoever
calls leafmill is. From that follows:

- Plug-ins are named on the command line only ([plugins.md](plugins.md)).
- Pages, attachments, the template and the folder of attachments must lie within
  the wiki, with symbolic links followed. `src/files.js` has the one place where
  this is decided; `test/escape.test.js` has the attacks we know.
- A `slug` is one part of an address. Anything else stops the build.
- Pages cannot contain HTML, nor links with other schemes than `http`, `https`
  and `mailto`.

## Open

- `escapeHtml` does not escape `'`. Nothing of ours needs it; a template or
  plug-in with single quotes around attributes would.
- Names of attachments with blanks are not encoded in `src` and `href`.
- A plug-in that wants inline markup has to import `src/markup/inline.js`; there
  is no hook for it.
- `render.js` with the re-exports goes when nobody imports it any more.
- No limit for the size of a wiki: a page can be as large as memory allows.
MD
git add -A && git diff --cached --stat && git diff --cached src""")
    s.user("Good. One thing in the diff: the message \"must be within the wiki, and exist\" for the template is odd when the file is simply missing. Otherwise fine. Fix that and commit, I'll open the pull request.")
    s.say("True, two causes in one message. `realInside` cannot tell them apart, but a look at whether the entry exists can. I keep it small.")
    s.parallel(lambda: [
        s.edit("src/site.js", "  if (file === undefined) throw new LeafmillError('template must be within the wiki, and exist');\n", "  if (file === undefined) {\n    const there = await lstat(path.join(folder, config.template)).catch(() => undefined);\n    throw new LeafmillError(there ? 'template must be within the wiki' : `no template ${config.template}`);\n  }\n"),
        s.edit("src/site.js", "import { copyFile, mkdir,", "import { copyFile, lstat, mkdir,"),
        s.edit("test/site.test.js", "  it('writes a search index', async () => {", "  it('says when there is no template', async () => {\n    const { folder, output } = await wiki({ 'a.wiki': '# A', 'leafmill.json': '{\"template\": \"t.html\"}' });\n    await assert.rejects(build(folder, output), /no template t\\.html/);\n  });\n  it('writes a search index', async () => {"),
    ])
    s.bash("npm test 2>&1 | tail -175")
    s.bash("git add -A && git commit -q -m 'Keep what comes from a wiki within the wiki and the output' -m 'Slugs, attachments, template, pages and plug-in files could lead outside by ../ or by symbolic links. See docs/security.md.' && git log --oneline && git status --short && rm -r .before")
    s.say("""
Committed, three commits in all:

1. **Split**: `text.js`, `markup/{frontmatter,blocks,inline,html}.js`; `render.js` re-exports.
2. **Plug-ins**: plain objects with `blocks`, `afterPage`, `afterSite`; `toc` and `search` (moved to `src/plugins/`) are plug-ins; loaded by `--plugin` only, neither from the wiki's folder nor by its `leafmill.json`, for the reason Ines gave.
3. **Path traversal closed**: six findings of the review, with the attacks as tests in `test/escape.test.js`.

The example wiki's output is byte for byte what it was at the beginning (checked after the last change to the code but one, the template message; the suite is green after that one, too).

Left open, in `docs/security.md`: `'` in `escapeHtml`, blanks in attachment names, no inline hook, when `render.js` goes, no size limit. For Tomas: `examples/callout.js` works but shows no inline markup in the box.""")
