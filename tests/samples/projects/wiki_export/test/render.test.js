import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  Slugger, escapeHtml, makeContext, parseBlocks, parseFrontMatter, plainText, renderInline, renderPage, slugify,
} from '../src/render.js';

const inline = (text, options) => renderInline(text, makeContext(options));
const html = (text, options) => renderPage(text, options).html;

describe('text', () => {
  it('escapes', () => assert.equal(escapeHtml('<a & "b">'), '&lt;a &amp; &quot;b&quot;&gt;'));
  for (const [text, slug] of [['Hello World', 'hello-world'], ['Zürich & Straße', 'zurich-strasse'], ['  --  ', 'page'], ['C++ / C#', 'c-c']]) {
    it(`slug of ${JSON.stringify(text)}`, () => assert.equal(slugify(text), slug));
  }
  it('numbers equal slugs', () => {
    const slugger = new Slugger();
    assert.deepEqual(['A', 'a', 'B', 'A!'].map((text) => slugger.slug(text)), ['a', 'a-2', 'b', 'a-3']);
  });
  it('takes markup off', () => assert.equal(plainText('**a** [[P|q]] [x](y) `c`'), 'a q x c'));
});

describe('front matter', () => {
  it('is optional', () => assert.deepEqual(parseFrontMatter('a\nb'), { data: {}, body: 'a\nb' }));
  it('has strings, booleans and lists', () => {
    const { data, body } = parseFrontMatter('---\ntitle: "A: b"\ndraft: true\ntags: [x, "y z"]\n---\ntext');
    assert.deepEqual(data, { title: 'A: b', draft: true, tags: ['x', 'y z'] });
    assert.equal(body, 'text');
  });
  it('must be closed', () => assert.throws(() => parseFrontMatter('---\ntitle: a', 'p.wiki'), /p\.wiki: front matter is not closed/));
  it('knows its keys', () => assert.throws(() => parseFrontMatter('---\ncolour: red\n---\n'), /unknown key colour/));
});

describe('blocks', () => {
  it('paragraphs', () => assert.equal(html('a\nb\n\nc'), '<p>a\nb</p>\n<p>c</p>'));
  it('headings', () => assert.equal(html('## A *b*'), '<h2 id="a-b">A <em>b</em></h2>'));
  it('equal headings get numbers', () => assert.match(html('# A\n# A'), /id="a">A<.*id="a-2">A</s));
  it('code', () => assert.equal(html('```js\n<b>\n```'), '<pre><code class="language-js">&lt;b&gt;\n</code></pre>'));
  it('code must be closed', () => assert.throws(() => html('x\n```\ny'), /code block in line 2 is not closed/));
  it('lists', () => assert.equal(html('- a\n- b'), '<ul><li>a</li><li>b</li></ul>'));
  it('nested lists', () => assert.equal(
    html('- a\n  1. x\n  2. y\n- b'),
    '<ul><li>a<ol><li>x</li><li>y</li></ol></li><li>b</li></ul>',
  ));
  it('quotes', () => assert.equal(html('> a\n> - b'), '<blockquote>\n<p>a\n- b</p>\n</blockquote>'));
  it('rules', () => assert.equal(html('a\n\n---\n\nb'), '<p>a</p>\n<hr>\n<p>b</p>'));
  it('tables', () => assert.equal(
    html('| a | b |\n|---|--:|\n| 1 | 2 |\n| x \\| y |'),
    '<table><thead><tr><th>a</th><th style="text-align: right">b</th></tr></thead><tbody>'
      + '<tr><td>1</td><td style="text-align: right">2</td></tr>'
      + '<tr><td>x | y</td><td style="text-align: right"></td></tr></tbody></table>',
  ));
  it('gives tokens', () => assert.deepEqual(
    parseBlocks('# A\n\ntext').map((block) => block.type), ['heading', 'paragraph'],
  ));
});

describe('inline', () => {
  const resolve = (name) => ({ Home: 'home.html' })[name];
  for (const [text, wanted] of [
    ['**a *b* c**', '<strong>a <em>b</em> c</strong>'],
    ['`a*b*`', '<code>a*b*</code>'],
    ['\\*a\\*', '*a*'],
    ['a < b', 'a &lt; b'],
    ['[x](https://example.org)', '<a href="https://example.org">x</a>'],
    ['[x](javascript:alert(1))', '[x](javascript:alert(1))'],
    ['see https://example.org/a.', 'see <a href="https://example.org/a">https://example.org/a</a>.'],
    ['[[Home]]', '<a href="home.html">Home</a>'],
    ['[[Home|start]]', '<a href="home.html">start</a>'],
    ['[[Home#Big Part]]', '<a href="home.html#big-part">Home</a>'],
    ['[[#Part]]', '<a href="#part">Part</a>'],
    ['[[Nowhere]]', '<a class="missing" title="no page Nowhere">Nowhere</a>'],
    ['![[a.png|An A]]', '<img src="files/a.png" alt="An A">'],
    ['![[a.pdf]]', '<a class="attachment" href="files/a.pdf">a.pdf</a>'],
  ]) {
    it(text, () => assert.equal(inline(text, { resolve }), wanted));
  }
});

describe('page', () => {
  it('takes its title from the front matter or the first heading', () => {
    assert.equal(renderPage('---\ntitle: T\n---\n# H').title, 'T');
    assert.equal(renderPage('x\n# H').title, 'H');
    assert.equal(renderPage('x').title, undefined);
  });
  it('collects links and attachments', () => {
    const page = renderPage('[[A]] and ![[b.png]]');
    assert.deepEqual([page.links, page.attachments], [['A'], ['b.png']]);
  });
});
