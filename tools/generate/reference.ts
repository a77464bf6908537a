/**
 * Generates docs/reference/resources.md from the schemas: every kind with an example, its fields, bounds, defaults and
 * rules.
 */
import { CONDITIONS, REASONS, type ConditionRow } from '#crds/conditions.ts';
import type { KindSchema, PrinterColumn, SchemaNode } from '#crds/kind-schema.ts';

const HEAD = `# API reference

The kinds of \`modelgateway.dev/v1alpha1\`, all namespaced. The same fields, defaults, bounds and rules hold in a
cluster, for \`mgw run --config\` and for \`mgw validate\`. \`kubectl get modelgateway\` lists objects of all kinds,
\`kubectl explain\` shows this text.

Money and ratios are decimal strings, in quotes; money is in USD. Rules marked *on change* compare with the object as it
was.

This page is generated from \`crds/*.yaml\` and \`crds/schema/conditions.ts\`.
`;

/** Schemas that several kinds share, described once; by the names of their fields. */
const SHARED: Readonly<Record<string, string>> = {
  'matchLabels,matchExpressions': 'LabelSelector',
  'type,status,reason,message,lastTransitionTime,observedGeneration': 'Condition',
};

/** The page; `examples` are manifests by kind. */
export function referenceText(kinds: readonly KindSchema[], examples: ReadonlyMap<string, string>): string {
  const shared = new Map<string, SchemaNode>();
  const sections = kinds.flatMap((kind) => kindSection(kind, examples.get(kind.kind), shared));
  const sharedSections = [...shared].flatMap(([name, node]) => [
    `## ${name}`,
    '',
    ...objectSection(name, node, { kind: name, shared }),
  ]);
  return [
    HEAD,
    ...kinds.map(({ kind }) => `- ${link(kind)}`),
    '',
    ...sections,
    ...sharedSections,
    ...conditionSections(),
  ].join('\n');
}

interface Place {
  readonly kind: string;
  /** Shared schemas that the page has referred to so far. */
  readonly shared: Map<string, SchemaNode>;
}

function kindSection(kind: KindSchema, example: string | undefined, shared: Map<string, SchemaNode>): string[] {
  if (!example) throw new Error(`${kind.kind} has no example`);
  const { spec, status } = kind.root.properties ?? {};
  if (!spec || !status) throw new Error(`${kind.kind} lacks spec or status`);
  const place = { kind: kind.kind, shared };
  const names = [kind.plural, kind.singular, ...kind.shortNames].map(code).join(', ');
  const { properties: _, ...root } = kind.root;
  return [
    `## ${kind.kind}`,
    '',
    kind.root.description ?? '',
    '',
    `Names for kubectl: ${names}.`,
    '',
    '```yaml',
    example.trimEnd(),
    '```',
    '',
    ...rulesList(root),
    ...columnsTable(kind.columns),
    ...objectSection('spec', spec, place),
    ...objectSection('status', status, place),
  ];
}

function columnsTable(columns: readonly PrinterColumn[]): string[] {
  const rows = columns.map(
    ({ name, jsonPath, description, priority = 0 }) =>
      `| ${name.toUpperCase()}${priority > 0 ? ' (-o wide)' : ''} | ${code(jsonPath)} | ${description ?? 'Time since it was created.'} |`,
  );
  return ['| column | from | meaning |', '|---|---|---|', ...rows, ''];
}

/** A table of one object's fields, then those of the objects in it. */
function objectSection(path: string, node: SchemaNode, place: Place): string[] {
  const fields = Object.entries(node.properties ?? {});
  const rows = fields.map(([field, child]) => fieldRow(field, child, { parent: node, path, place }));
  const isTop = path === place.kind;
  const below = fields.flatMap(([field, child]) => nestedSection(`${isTop ? '' : `${path}.`}${field}`, child, place));
  const heading = isTop ? [] : [`### ${place.kind} ${path}`, '', node.description ?? '', ''];
  return [
    ...heading,
    ...rulesList(node),
    '| field | type | default | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
    ...below,
  ];
}

/** The sections of an object in a field, its list or its map; shared objects have a section of their own. */
function nestedSection(path: string, node: SchemaNode, place: Place): string[] {
  const object = node.items ?? node.additionalProperties ?? node;
  if (object.type !== 'object' || !object.properties) return [];
  const name = sharedName(object);
  if (name) {
    place.shared.set(name, object);
    return [];
  }
  return objectSection(`${path}${node.items ? '[]' : node.additionalProperties ? '.*' : ''}`, object, place);
}

interface RowPlace {
  readonly parent: SchemaNode;
  readonly path: string;
  readonly place: Place;
}

function fieldRow(field: string, node: SchemaNode, { parent, path, place }: RowPlace): string {
  const isRequired = parent.required?.includes(field) ?? false;
  const meaning = [
    node.description ?? '',
    ...boundsOf(node),
    ...ruleMessages(node).map((message) => `*Rule:* ${message}`),
  ];
  const nestedPath = path === place.kind ? field : `${path}.${field}`;
  return `| ${code(field)} | ${typeText(node, nestedPath, place)} | ${isRequired ? '**required**' : defaultText(node)} | ${meaning.filter(Boolean).map(inTable).join('<br>')} |`;
}

function typeText(node: SchemaNode, path: string, place: Place): string {
  if (node.type === 'array' && node.items) {
    const keys = node['x-kubernetes-list-map-keys'];
    const sort = node['x-kubernetes-list-type'] === 'set' ? 'set' : 'list';
    return `${sort} of ${typeText(node.items, `${path}[]`, place)}${
      keys ? `, unique by ${keys.map(code).join(', ')}` : ''
    }`;
  }
  if (node.additionalProperties) return `map of ${typeText(node.additionalProperties, path, place)}`;
  if (node.type === 'object') return link(sharedName(node) ?? `${place.kind} ${path}`);
  if (node.enum) return node.enum.map(code).join(' \\| ');
  return node.format === 'date-time' ? 'time' : node.type;
}

function defaultText(node: SchemaNode): string {
  if (node.default === undefined) return '';
  return code(
    typeof node.default === 'string' ? node.default : JSON.stringify(node.default).replaceAll(/[":,]+/g, defaultSign),
  );
}

/** JSON as YAML's flow style: no quotes, a space behind colons and commas. */
function defaultSign(sign: string): string {
  if (sign.includes(':')) return ': ';
  return sign.includes(',') ? ', ' : '';
}

/** The bounds of the value, in words. */
function boundsOf(node: SchemaNode): string[] {
  const bounds = [
    range(node.minimum, node.maximum, ''),
    node.enum || node.format === 'date-time' ? '' : range(node.minLength, node.maxLength, ' characters'),
    range(node.minItems, node.maxItems, ' items'),
    range(undefined, node.maxProperties, ' entries'),
    node.items && node.items.type === 'string' && !node.items.enum
      ? range(node.items.minLength, node.items.maxLength, ' characters each')
      : '',
  ];
  const text = bounds.filter(Boolean).join(', ').replaceAll(', At ', ', at ');
  return text ? [`${text}.`] : [];
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  const number = (value: number): string => value.toLocaleString('en-US');
  if (least !== undefined && most !== undefined) return `${number(least)} to ${number(most)}${unit}`;
  if (most !== undefined) return `At most ${number(most)}${unit}`;
  return least === undefined ? '' : `At least ${number(least)}${unit}`;
}

function ruleMessages(node: SchemaNode): string[] {
  if (node.type === 'object') return []; // above the object's own table
  return (node['x-kubernetes-validations'] ?? []).map(ruleText);
}

function rulesList(node: SchemaNode): string[] {
  const rules = (node['x-kubernetes-validations'] ?? []).map((rule) => `- ${ruleText(rule)}`);
  return rules.length > 0 ? ['Rules:', ...rules, ''] : [];
}

function ruleText({ rule, message }: { readonly rule: string; readonly message: string }): string {
  return `${rule.includes('oldSelf') ? '(on change) ' : ''}${message}.`;
}

function sharedName(node: SchemaNode): string | undefined {
  return SHARED[Object.keys(node.properties ?? {}).join()];
}

function conditionSections(): string[] {
  const rows: [string, ConditionRow][] = Object.entries(CONDITIONS);
  const types = rows.map(
    ([type, row]) =>
      `| ${code(type)} | ${row.kinds.join(', ')} | ${row.meaning}${row.onlyWhileTrue ? ' Present only while it is True.' : ''} | ${row.reasons.map(code).join(', ')} |`,
  );
  const reasons = Object.entries(REASONS).map(([reason, meaning]) => `| ${code(reason)} | ${meaning} |`);
  return [
    '## Condition types',
    '',
    '| type | kinds | meaning when True | reasons |',
    '|---|---|---|---|',
    ...types,
    '',
    '## Condition reasons',
    '',
    '| reason | meaning |',
    '|---|---|',
    ...reasons,
    '',
  ];
}

function link(title: string): string {
  const anchor = title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
  return `[${title.split(' ').length > 1 ? 'object' : title}](#${anchor})`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function inTable(text: string): string {
  return text.replaceAll('|', '\\|');
}
