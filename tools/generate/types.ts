/**
 * Generates TypeScript types of the API's kinds from their schemas. A spec is typed as it is after defaults are
 * applied: a field with a default is always present.
 */
import type { KindSchema, SchemaNode } from '#crds/kind-schema.ts';
import type { KindRow } from './kinds.ts';

const HEADER = `/**
 * The kinds of the API, generated from the CustomResourceDefinitions in crds/ by \`npm run generate\`.
 * A spec is typed as it is after defaults were applied.
 */
`;

const METADATA = `/** metav1.ObjectMeta, as far as it matters here. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}
`;

const MAX_WIDTH = 120;

/** Interfaces that several kinds share, by their properties. */
const SHARED: Readonly<Record<string, { readonly name: string; readonly doc: string; readonly field?: string }>> = {
  'type,status,reason,message,lastTransitionTime,observedGeneration': {
    name: 'Condition',
    doc: "metav1.Condition: one aspect of an object's state.",
  },
  'matchLabels,matchExpressions': {
    name: 'LabelSelector',
    doc: 'metav1.LabelSelector; an empty one matches everything.',
  },
  'requestsPerMinute,inputTokensPerMinute,outputTokensPerMinute': {
    name: 'RateLimits',
    doc: 'What calls may use in any 60 seconds; absent: any number.',
  },
  name: { name: 'NameRef', doc: 'A reference by name.', field: 'The name of what is meant.' },
};

interface Output {
  /** Interface name → its text, in the order of first use. */
  readonly interfaces: Map<string, string>;
}

/** The whole text of types.gen.ts. */
export function typesText(kinds: readonly KindSchema[], rows: readonly KindRow[]): string {
  const output: Output = { interfaces: new Map() };
  for (const kind of kinds) addKind(kind, output);
  return [HEADER, constants(kinds, rows), METADATA, ...output.interfaces.values()].join('\n');
}

function constants(kinds: readonly KindSchema[], rows: readonly KindRow[]): string {
  const [first] = kinds;
  if (!first) throw new Error('no kinds');
  const table = rows.map(({ kind, plural, owner }) => `  ${kind}: { plural: '${plural}', owner: '${owner}' },\n`);
  return `export const API_GROUP = '${first.group}';
export const API_VERSION = '${first.group}/${first.version}';

/** The kinds: the plural, as in URLs; whether a tenant's namespaces or the platform's have it. */
export const KINDS = {
${table.join('')}} as const;

export type Kind = keyof typeof KINDS;
export type Resource = ${kinds.map((kind) => kind.kind).join(' | ')};
`;
}

function addKind(kind: KindSchema, output: Output): void {
  const { spec, status } = kind.root.properties ?? {};
  if (!spec || !status) throw new Error(`${kind.kind} lacks spec or status`);
  output.interfaces.set(
    kind.kind,
    `${doc(kind.root.description, '')}export interface ${kind.kind} {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: '${kind.kind}';
  readonly metadata: ObjectMeta;
  readonly spec: ${kind.kind}Spec;
  readonly status?: ${kind.kind}Status;
}
`,
  );
  addInterface(`${kind.kind}Spec`, spec, { prefix: kind.kind, output });
  addInterface(`${kind.kind}Status`, status, { prefix: `${kind.kind}Status`, output });
}

interface Place {
  /** The prefix of the names of nested interfaces. */
  readonly prefix: string;
  readonly output: Output;
}

function addInterface(name: string, node: SchemaNode, place: Place): void {
  place.output.interfaces.set(name, ''); // reserves its place before the interfaces that it refers to
  const shared = SHARED[Object.keys(node.properties ?? {}).join()];
  const fields = Object.entries(node.properties ?? {}).map(([field, child]) => {
    const always = child.default !== undefined || node.required?.includes(field);
    const type = typeOf(child, {
      ...place,
      prefix: place.prefix + pascal(child.type === 'array' ? singular(field) : field),
    });
    return `${doc(shared?.field ?? child.description, '  ')}  readonly ${field}${always ? '' : '?'}: ${type};\n`;
  });
  place.output.interfaces.set(
    name,
    `${doc(shared?.doc ?? node.description, '')}export interface ${name} {\n${fields.join('')}}\n`,
  );
}

function typeOf(node: SchemaNode, place: Place): string {
  switch (node.type) {
    case 'object':
      return objectType(node, place);
    case 'array':
      return `readonly ${inBrackets(typeOf(node.items ?? { type: 'string' }, place))}[]`;
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    default:
      return node.enum ? node.enum.map((value) => `'${value}'`).join(' | ') : 'string';
  }
}

function objectType(node: SchemaNode, place: Place): string {
  if (node.additionalProperties) return `Readonly<Record<string, ${typeOf(node.additionalProperties, place)}>>`;
  const shared = SHARED[Object.keys(node.properties ?? {}).join()];
  const name = shared?.name ?? place.prefix;
  if (!place.output.interfaces.has(name)) addInterface(name, node, { ...place, prefix: name });
  return name;
}

function inBrackets(type: string): string {
  return type.includes(' ') ? `(${type})` : type;
}

function doc(text: string | undefined, indent: string): string {
  if (!text) return '';
  const oneLine = `${indent}/** ${text} */`;
  if (oneLine.length <= MAX_WIDTH) return `${oneLine}\n`;
  return `${indent}/**\n${wrapped(text, MAX_WIDTH - indent.length - ' * '.length)
    .map((line) => `${indent} * ${line}\n`)
    .join('')}${indent} */\n`;
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

function pascal(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function singular(name: string): string {
  return name.replace(/s$/, '');
}
