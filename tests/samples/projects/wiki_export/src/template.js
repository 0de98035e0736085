import { escapeHtml } from './render.js';
import { LeafmillError } from './errors.js';

export const DEFAULT_TEMPLATE = `<!doctype html>
<html lang="{{language}}">
<head>
<meta charset="utf-8">
<title>{{title}} – {{site}}</title>
</head>
<body>
<main>
{{{content}}}
</main>
{{#tags}}<p class="tags">{{tags}}</p>{{/tags}}
</body>
</html>
`;

/** {{name}} is escaped, {{{name}}} is not, {{#name}}...{{/name}} is left out if name is empty. */
export function fill(template, values) {
  const lookup = (name) => {
    if (!(name in values)) throw new LeafmillError(`template: unknown name ${name}`);
    const value = values[name];
    if (Array.isArray(value)) return value.join(', ');
    return value === undefined || value === null || value === false ? '' : String(value);
  };
  return template
    .replace(/\{\{#(\w+)\}\}(.*?)\{\{\/\1\}\}/gs, (_, name, inner) => (lookup(name) ? inner : ''))
    .replace(/\{\{\{(\w+)\}\}\}|\{\{(\w+)\}\}/g, (_, raw, name) =>
      raw ? lookup(raw) : escapeHtml(lookup(name)));
}
