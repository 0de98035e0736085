import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { fill } from '../src/template.js';

describe('template', () => {
  it('escapes', () => assert.equal(fill('{{a}}', { a: '<b>' }), '&lt;b&gt;'));
  it('does not escape with three braces', () => assert.equal(fill('{{{a}}}', { a: '<b>' }), '<b>'));
  it('joins lists', () => assert.equal(fill('{{a}}', { a: ['x', 'y'] }), 'x, y'));
  it('leaves sections out', () => assert.equal(fill('[{{#a}}A{{/a}}{{#b}}B{{/b}}]', { a: [], b: 'x' }), '[B]'));
  it('knows its names', () => assert.throws(() => fill('{{nope}}', {}), /unknown name nope/));
  it('does not read values as templates', () => assert.equal(fill('{{{a}}}', { a: '{{b}}' }), '{{b}}'));
});
