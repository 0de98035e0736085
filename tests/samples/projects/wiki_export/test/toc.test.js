import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { renderPage } from '../src/render.js';

describe('table of contents', () => {
  it('has nested levels', () => assert.equal(
    renderPage('[[_TOC_]]\n# A\n## B\n## C\n# D').html.split('\n')[0],
    '<nav class="toc"><ul><li><a href="#a">A</a><ul><li><a href="#b">B</a></li><li><a href="#c">C</a></li></ul></li>'
      + '<li><a href="#d">D</a></li></ul></nav>',
  ));
  it('uses the ids of equal headings', () => assert.match(
    renderPage('[[_TOC_]]\n# A\n# A').html, /href="#a">.*href="#a-2">/,
  ));
  it('is only there when it is asked for', () => assert.doesNotMatch(renderPage('# A').html, /toc/));
});
