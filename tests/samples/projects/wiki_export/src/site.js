import { copyFile, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { loadConfig } from './config.js';
import { LeafmillError } from './errors.js';
import { parseFrontMatter, renderPage, slugify } from './render.js';
import { buildIndex } from './search.js';
import { DEFAULT_TEMPLATE, fill } from './template.js';

export async function findPages(folder) {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith('.wiki')).sort();
}

/** The address of a page, relative to the root of the site. */
export function addressOf(name, data) {
  const folders = path.dirname(name).split(path.sep).filter((part) => part !== '.');
  const last = data.slug ?? slugify(path.basename(name, '.wiki'));
  return [...folders.map(slugify), `${last}.html`].join('/');
}

async function loadPages(folder) {
  const pages = [];
  for (const name of await findPages(folder)) {
    const text = await readFile(path.join(folder, name), 'utf8');
    const { data } = parseFrontMatter(text, name);
    if (data.draft) continue;
    pages.push({ name, text, data, address: addressOf(name, data) });
  }
  const taken = new Map();
  for (const page of pages) {
    if (taken.has(page.address)) {
      throw new LeafmillError(`same address as ${taken.get(page.address)}: ${page.address}`, { file: page.name });
    }
    taken.set(page.address, page.name);
  }
  return pages;
}

function resolver(pages, from) {
  const byName = new Map();
  for (const page of pages) {
    const base = path.basename(page.name, '.wiki').toLowerCase();
    byName.set(base, page);
    byName.set(page.name.slice(0, -'.wiki'.length).toLowerCase(), page);
    if (page.data.title) byName.set(page.data.title.toLowerCase(), page);
  }
  const up = '../'.repeat(from.address.split('/').length - 1);
  return (name) => {
    const page = byName.get(name.toLowerCase());
    return page && up + page.address;
  };
}

async function copyAttachments(names, folder, output, config) {
  const missing = [];
  for (const name of new Set(names)) {
    const source = path.join(folder, config.attachments, name);
    const target = path.join(output, config.attachments, name);
    try {
      await stat(source);
    } catch {
      missing.push(name);
      continue;
    }
    await mkdir(path.dirname(target), { recursive: true });
    await copyFile(source, target);
  }
  return missing;
}

/** Build the site; returns what there is to report. */
export async function build(folder, output) {
  const config = await loadConfig(folder);
  const template = config.template
    ? await readFile(path.join(folder, config.template), 'utf8')
    : DEFAULT_TEMPLATE;
  const pages = await loadPages(folder);
  const attachments = [];
  const missingLinks = [];
  for (const page of pages) {
    const resolve = resolver(pages, page);
    const up = '../'.repeat(page.address.split('/').length - 1);
    const rendered = renderPage(page.text, {
      file: page.name,
      resolve,
      attachmentBase: `${up}${config.attachments}/`,
    });
    page.title = rendered.title ?? path.basename(page.name, '.wiki');
    page.words = rendered.words;
    attachments.push(...rendered.attachments);
    for (const link of rendered.links) {
      if (link !== '' && resolve(link) === undefined) missingLinks.push(`${page.name}: ${link}`);
    }
    const html = fill(template, {
      title: page.title,
      site: config.title,
      language: config.language,
      content: rendered.html,
      tags: page.data.tags ?? [],
    });
    const target = path.join(output, page.address);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, html);
  }
  const missingFiles = await copyAttachments(attachments, folder, output, config);
  if (config.search) {
    await mkdir(output, { recursive: true });
    await writeFile(path.join(output, 'search.json'), `${JSON.stringify(buildIndex(pages))}\n`);
  }
  return { pages: pages.length, missingLinks, missingFiles };
}
