// Everything about markup: front matter, blocks, inline markup, links, the
// table of contents.

import { LeafmillError } from './errors.js';

// -- text ------------------------------------------------------------------

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (sign) => ENTITIES[sign]);
}

export function slugify(text) {
  const slug = text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return slug || 'page';
}

/** Gives every heading of a page an id of its own. */
export class Slugger {
  constructor() {
    this.seen = new Map();
  }

  slug(text) {
    const base = slugify(text);
    const count = this.seen.get(base) ?? 0;
    this.seen.set(base, count + 1);
    return count === 0 ? base : `${base}-${count + 1}`;
  }
}

// -- front matter ----------------------------------------------------------

const KNOWN_KEYS = new Set(['title', 'slug', 'tags', 'draft']);

function parseValue(text) {
  const value = text.trim();
  if (value === 'true' || value === 'false') return value === 'true';
  if (value.startsWith('[') && value.endsWith(']')) {
    return value
      .slice(1, -1)
      .split(',')
      .map((item) => item.trim().replace(/^(["'])(.*)\1$/, '$2'))
      .filter((item) => item !== '');
  }
  return value.replace(/^(["'])(.*)\1$/, '$2');
}

export function parseFrontMatter(text, file) {
  const lines = text.split(/\r?\n/);
  if (lines[0] !== '---') return { data: {}, body: lines.join('\n') };
  const end = lines.indexOf('---', 1);
  if (end === -1) throw new LeafmillError('front matter is not closed', { file });
  const data = {};
  for (const line of lines.slice(1, end)) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    const colon = line.indexOf(':');
    if (colon === -1) throw new LeafmillError(`bad line in front matter: ${line}`, { file });
    const key = line.slice(0, colon).trim();
    if (!KNOWN_KEYS.has(key)) throw new LeafmillError(`unknown key ${key}`, { file });
    data[key] = parseValue(line.slice(colon + 1));
  }
  return { data, body: lines.slice(end + 1).join('\n') };
}

// -- blocks ----------------------------------------------------------------

const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const FENCE = /^(`{3,})\s*(\S*)\s*$/;
const ITEM = /^(\s*)([-*]|\d+\.)\s+(.*)$/;
const RULE = /^(?:-{3,}|\*{3,})$/;
const TABLE_RULE = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$/;

function cells(line) {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replace(/\\\|/g, '|'));
}

function alignment(cell) {
  const left = cell.startsWith(':');
  const right = cell.endsWith(':');
  if (left && right) return 'center';
  return right ? 'right' : undefined;
}

function parseList(lines, start) {
  const [, indent, marker] = ITEM.exec(lines[start]);
  const ordered = /\d/.test(marker);
  const items = [];
  let index = start;
  while (index < lines.length) {
    const match = ITEM.exec(lines[index]);
    if (!match) break;
    if (match[1].length < indent.length) break;
    if (match[1].length >= indent.length + 2 && items.length > 0) {
      const inner = parseList(lines, index);
      items[items.length - 1].children.push(inner.block);
      index = inner.next;
      continue;
    }
    if (/\d/.test(match[2]) !== ordered) break;
    items.push({ text: match[3], children: [] });
    index += 1;
  }
  return { block: { type: 'list', ordered, items }, next: index };
}

export function parseBlocks(text, file) {
  const lines = text.split('\n');
  const blocks = [];
  let index = 0;
  let paragraph = [];

  const flush = () => {
    if (paragraph.length > 0) blocks.push({ type: 'paragraph', text: paragraph.join('\n') });
    paragraph = [];
  };

  while (index < lines.length) {
    const line = lines[index];
    const fence = FENCE.exec(line);
    if (fence) {
      flush();
      const end = lines.findIndex((other, at) => at > index && other.trim() === fence[1]);
      if (end === -1) {
        throw new LeafmillError(`code block in line ${index + 1} is not closed`, { file });
      }
      blocks.push({
        type: 'code',
        language: fence[2],
        text: lines.slice(index + 1, end).join('\n'),
      });
      index = end + 1;
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      flush();
      blocks.push({ type: 'heading', level: heading[1].length, text: heading[2] });
      index += 1;
      continue;
    }
    if (line.trim() === '[[_TOC_]]') {
      flush();
      blocks.push({ type: 'toc' });
      index += 1;
      continue;
    }
    if (RULE.test(line.trim())) {
      flush();
      blocks.push({ type: 'rule' });
      index += 1;
      continue;
    }
    if (line.startsWith('>')) {
      flush();
      const quoted = [];
      while (index < lines.length && lines[index].startsWith('>')) {
        quoted.push(lines[index].replace(/^>\s?/, ''));
        index += 1;
      }
      blocks.push({ type: 'quote', blocks: parseBlocks(quoted.join('\n'), file) });
      continue;
    }
    if (line.includes('|') && TABLE_RULE.test((lines[index + 1] ?? '').trim())
      && (lines[index + 1] ?? '').includes('-')) {
      flush();
      const header = cells(line);
      const align = cells(lines[index + 1]).map(alignment);
      const rows = [];
      index += 2;
      while (index < lines.length && lines[index].includes('|')) {
        rows.push(cells(lines[index]));
        index += 1;
      }
      blocks.push({ type: 'table', header, align, rows });
      continue;
    }
    if (ITEM.test(line) && paragraph.length === 0) {
      const { block, next } = parseList(lines, index);
      blocks.push(block);
      index = next;
      continue;
    }
    if (line.trim() === '') flush();
    else paragraph.push(line.trim());
    index += 1;
  }
  flush();
  return blocks;
}

// -- inline ----------------------------------------------------------------

const INLINE = new RegExp(
  [
    '(?<code>`+)(?<codeText>.+?)\\k<code>',
    '!\\[\\[(?<file>[^\\]|]+)(?:\\|(?<alt>[^\\]]*))?\\]\\]',
    '\\[\\[(?<page>[^\\]|#]*)(?:#(?<section>[^\\]|]*))?(?:\\|(?<label>[^\\]]*))?\\]\\]',
    '\\[(?<text>[^\\]]+)\\]\\((?<url>[^)\\s]+)\\)',
    '\\*\\*(?<bold>.+?)\\*\\*',
    '\\*(?<italic>[^*]+?)\\*',
    '(?<auto>https?://[^\\s<>)]+[^\\s<>).,;:!?])',
    '\\\\(?<escaped>[\\\\`*\\[\\]!|])',
  ].join('|'),
  'gs',
);

const IMAGE = /\.(png|jpe?g|gif|svg|webp)$/i;

function safeUrl(url) {
  return /^(https?:|mailto:|\/|#|\.)/i.test(url) || !/^[a-z][a-z0-9+.-]*:/i.test(url);
}

function renderWikiLink({ page, section, label }, context) {
  const name = page.trim();
  const target = name === '' ? '' : context.resolve(name);
  const words = label ?? (section && name === '' ? section : name);
  const hash = section ? `#${slugify(section)}` : '';
  context.links.push(name);
  if (target === undefined) {
    return `<a class="missing" title="no page ${escapeHtml(name)}">${renderInline(words, context)}</a>`;
  }
  return `<a href="${escapeHtml(target + hash)}">${renderInline(words, context)}</a>`;
}

function renderAttachment({ file, alt }, context) {
  const name = file.trim();
  context.attachments.push(name);
  const href = escapeHtml(`${context.attachmentBase}${name}`);
  if (IMAGE.test(name)) return `<img src="${href}" alt="${escapeHtml(alt ?? name)}">`;
  return `<a class="attachment" href="${href}">${escapeHtml(alt ?? name)}</a>`;
}

export function renderInline(text, context) {
  let html = '';
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    const found = match.groups;
    html += escapeHtml(text.slice(last, match.index));
    last = match.index + match[0].length;
    if (found.code) html += `<code>${escapeHtml(found.codeText.trim())}</code>`;
    else if (found.file !== undefined) html += renderAttachment(found, context);
    else if (found.page !== undefined) html += renderWikiLink(found, context);
    else if (found.url !== undefined) {
      html += safeUrl(found.url)
        ? `<a href="${escapeHtml(found.url)}">${renderInline(found.text, context)}</a>`
        : escapeHtml(match[0]);
    } else if (found.bold !== undefined) html += `<strong>${renderInline(found.bold, context)}</strong>`;
    else if (found.italic !== undefined) html += `<em>${renderInline(found.italic, context)}</em>`;
    else if (found.auto !== undefined) {
      html += `<a href="${escapeHtml(found.auto)}">${escapeHtml(found.auto)}</a>`;
    } else html += escapeHtml(found.escaped);
  }
  return html + escapeHtml(text.slice(last));
}

export function plainText(text) {
  return text
    .replace(/!\[\[([^\]|]+)(?:\|([^\]]*))?\]\]/g, (_, file, alt) => alt ?? file)
    .replace(/\[\[([^\]|]*)(?:\|([^\]]*))?\]\]/g, (_, page, label) => label ?? page)
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '');
}

// -- table of contents -----------------------------------------------------

export function buildToc(headings) {
  const root = { level: 0, children: [] };
  const stack = [root];
  for (const heading of headings) {
    const node = { ...heading, children: [] };
    while (stack.at(-1).level >= heading.level) stack.pop();
    stack.at(-1).children.push(node);
    stack.push(node);
  }
  return root.children;
}

export function renderToc(nodes) {
  if (nodes.length === 0) return '';
  const items = nodes.map(
    (node) => `<li><a href="#${node.id}">${escapeHtml(node.text)}</a>${renderToc(node.children)}</li>`,
  );
  return `<ul>${items.join('')}</ul>`;
}

// -- pages -----------------------------------------------------------------

function renderList(block, context) {
  const tag = block.ordered ? 'ol' : 'ul';
  const items = block.items.map((item) => {
    const inner = item.children.map((child) => renderList(child, context)).join('');
    return `<li>${renderInline(item.text, context)}${inner}</li>`;
  });
  return `<${tag}>${items.join('')}</${tag}>`;
}

function renderTable({ header, align, rows }, context) {
  const cell = (tag) => (text, index) => {
    const style = align[index] ? ` style="text-align: ${align[index]}"` : '';
    return `<${tag}${style}>${renderInline(text ?? '', context)}</${tag}>`;
  };
  const head = `<thead><tr>${header.map(cell('th')).join('')}</tr></thead>`;
  const body = rows.map((row) => `<tr>${header.map((_, at) => cell('td')(row[at], at)).join('')}</tr>`);
  return `<table>${head}<tbody>${body.join('')}</tbody></table>`;
}

function renderBlock(block, context) {
  switch (block.type) {
    case 'heading': {
      const id = context.slugger.slug(plainText(block.text));
      context.headings.push({ level: block.level, text: plainText(block.text), id });
      return `<h${block.level} id="${id}">${renderInline(block.text, context)}</h${block.level}>`;
    }
    case 'paragraph':
      return `<p>${renderInline(block.text, context)}</p>`;
    case 'code': {
      const language = block.language ? ` class="language-${escapeHtml(block.language)}"` : '';
      return `<pre><code${language}>${escapeHtml(block.text)}\n</code></pre>`;
    }
    case 'list':
      return renderList(block, context);
    case 'quote':
      return `<blockquote>\n${renderBlocks(block.blocks, context)}\n</blockquote>`;
    case 'table':
      return renderTable(block, context);
    case 'rule':
      return '<hr>';
    case 'toc':
      return '\u0000toc\u0000';
    default:
      throw new Error(`unknown block ${block.type}`);
  }
}

export function renderBlocks(blocks, context) {
  return blocks.map((block) => renderBlock(block, context)).join('\n');
}

export function makeContext({ resolve = () => undefined, attachmentBase = 'files/' } = {}) {
  return { resolve, attachmentBase, links: [], attachments: [], headings: [], slugger: new Slugger() };
}

/** Render the text of a page; `options` go to the context. */
export function renderPage(text, options = {}) {
  const { data, body } = parseFrontMatter(text, options.file);
  const context = makeContext(options);
  const blocks = parseBlocks(body, options.file);
  let html = renderBlocks(blocks, context);
  const toc = `<nav class="toc">${renderToc(buildToc(context.headings))}</nav>`;
  html = html.replaceAll('\u0000toc\u0000', toc);
  const first = context.headings.find((heading) => heading.level === 1);
  return {
    data,
    html,
    title: data.title ?? first?.text,
    headings: context.headings,
    links: context.links,
    attachments: context.attachments,
    words: blocks.map((block) => plainText(block.text ?? '')).join(' '),
  };
}
