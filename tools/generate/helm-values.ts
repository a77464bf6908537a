/**
 * A chart's values.schema.json and README.md out of the comments of its values.yaml. The text of a value begins with
 * `# --`, as helm-docs, IDEs and Artifact Hub read it; a line `# @schema {…}` above it adds to the schema that follows
 * from the default. There, `like: NAME` means: also all that the top-level value NAME has; `open: true`: and others.
 */
import { isMap, isScalar, isSeq, parse, parseDocument } from 'yaml';
import type { Node, Pair, YAMLMap } from 'yaml';

/** A value of the chart. */
export interface HelmValue {
  /** Such as ["dataplane", "autoscaling", "enabled"]. */
  readonly path: readonly string[];
  /** Empty where the value has no text. */
  readonly description: string;
  readonly default: unknown;
  /** That which `@schema` says. */
  readonly hint: Readonly<Record<string, unknown>>;
  /** Empty: not a map, or one that takes any keys. */
  readonly children: readonly HelmValue[];
}

type Schema = Readonly<Record<string, unknown>>;

/** Reads all values of a values.yaml, in its order. */
export function readValues(text: string): HelmValue[] {
  const { contents, commentBefore } = parseDocument(text);
  if (!isMap(contents)) throw new Error('values.yaml must be a map');
  return valuesOf(contents, [], commentBefore ?? '');
}

function valuesOf(map: YAMLMap, path: readonly string[], before: string): HelmValue[] {
  return map.items.map((pair, index) =>
    valueOf(pair, path, index === 0 ? `${before}\n${map.commentBefore ?? ''}` : ''),
  );
}

function valueOf({ key, value }: Pair, parent: readonly string[], before: string): HelmValue {
  if (!isScalar(key)) throw new Error(`${parent.join('.')} has a key that is no scalar`);
  const path = [...parent, String(key.value)];
  const lines = commentLines(`${before}\n${key.commentBefore ?? ''}`);
  const hintLine = lines.find((line) => line.startsWith('@schema '));
  const hint = hintLine === undefined ? {} : (parse(hintLine.slice('@schema '.length)) as Record<string, unknown>);
  const isClosed = isMap(value) && value.items.length > 0 && !('additionalProperties' in hint);
  return {
    path,
    hint,
    description: textOf(lines),
    default: isMap(value) || isSeq(value) || isScalar(value) ? (value as Node).toJS(parseDocument('')) : null,
    children: isClosed ? valuesOf(value, path, '') : [],
  };
}

/** The sentences that begin with `-- `; empty where none do. */
function textOf(lines: readonly string[]): string {
  const start = lines.findIndex((line) => line.startsWith('-- '));
  return start === -1 ? '' : lines.slice(start).join(' ').slice('-- '.length);
}

/** The lines right above a value. A blank line ends a comment that belongs to what comes before. */
function commentLines(comment: string): string[] {
  return (
    comment
      .split(/\n\s*\n/)
      .at(-1)
      ?.split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '') ?? []
  );
}

const TYPES: Readonly<Record<string, string>> = { string: 'string', boolean: 'boolean', number: 'integer' };

/** The text of values.schema.json. */
export function schemaText(values: readonly HelmValue[]): string {
  const properties = { global: { type: 'object' }, ...propertiesOf(values, values) };
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    properties,
  };
  return `${JSON.stringify(schema, undefined, 1)}\n`;
}

function propertiesOf(values: readonly HelmValue[], all: readonly HelmValue[]): Record<string, Schema> {
  return Object.fromEntries(values.map((value) => [value.path.at(-1) ?? '', schemaOf(value, all)]));
}

function schemaOf(value: HelmValue, all: readonly HelmValue[]): Schema {
  const { like, open = false, ...hint } = value.hint;
  const description = value.description === '' ? {} : { description: value.description };
  if (value.children.length === 0) return { ...description, ...inferred(value.default), ...hint };
  const base =
    like === undefined
      ? {}
      : propertiesOf(all.find(({ path }) => path.length === 1 && path[0] === like)?.children ?? [], all);
  const own = propertiesOf(value.children, all);
  return { ...description, type: 'object', additionalProperties: open, properties: merged(base, own), ...hint };
}

/** Own properties over those that are taken over; of both, what the own one does not say stays. */
function merged(base: Readonly<Record<string, Schema>>, own: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const result: Record<string, Schema> = { ...base };
  for (const [name, schema] of Object.entries(own)) {
    const before = result[name];
    result[name] = before === undefined ? schema : mergedOne(before, schema);
  }
  return result;
}

function mergedOne(before: Schema, schema: Schema): Schema {
  const closed = typeof before['properties'] === 'object' && typeof schema['properties'] === 'object';
  const properties = closed
    ? {
        properties: merged(
          before['properties'] as Record<string, Schema>,
          schema['properties'] as Record<string, Schema>,
        ),
      }
    : {};
  if (!closed && 'additionalProperties' in before && before['type'] === 'object')
    return { ...before, ...('description' in schema ? { description: schema['description'] } : {}) };
  return { ...before, ...schema, ...properties };
}

function inferred(value: unknown): Schema {
  if (Array.isArray(value)) return { type: 'array', items: { type: 'object' } };
  if (typeof value === 'object') return { type: 'object' };
  return { type: TYPES[typeof value] };
}

/** The lines of a table of all values. */
function valuesTable(values: readonly HelmValue[]): string[] {
  return ['| value | default | |', '|---|---|---|', ...values.flatMap(rows)];
}

function rows(value: HelmValue): string[] {
  const row = `| \`${value.path.join('.')}\` | ${
    value.children.length > 0 ? '' : `\`${JSON.stringify(value.default).replaceAll('|', '\\|')}\``
  } | ${describe(value)} |`;
  return [row, ...value.children.flatMap(rows)];
}

function describe({ description, hint }: HelmValue): string {
  const choice = Array.isArray(hint['enum'])
    ? `One of ${hint['enum'].map((each) => (each === '' ? 'empty' : String(each))).join(', ')}.`
    : '';
  const like = typeof hint['like'] === 'string' ? `Also accepts all values of \`${hint['like']}\`.` : '';
  return [description, choice, like].filter(Boolean).join(' ').replaceAll('|', '\\|');
}

/** A chart's README.md. */
export function chartReadme(chartText: string, values: readonly HelmValue[]): string {
  const chart = parse(chartText) as { name: string; description: string; kubeVersion: string };
  return `${[
    `# ${chart.name}`,
    '',
    `${chart.description}. Kubernetes ${chart.kubeVersion.replace(/-0$/, '')}. [docs/guides/helm.md](../../docs/guides/helm.md) describes the installation.`,
    '',
    '## Values',
    '',
    'Generated from `values.yaml`; `values.schema.json` refuses all other values.',
    '',
    ...valuesTable(values),
  ].join('\n')}\n`;
}
