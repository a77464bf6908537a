/**
 * The table of kinds, from the CustomResourceDefinitions and the message Snapshot: a kind whose spec names its gateway
 * belongs to a tenant, and its objects are in the field of the snapshot with which its plural ends.
 */
import type { KindSchema } from '#crds/kind-schema.ts';

export interface KindRow {
  readonly kind: string;
  readonly plural: string;
  readonly owner: 'Tenant' | 'Platform';
  /** The field of the snapshot, and its message. */
  readonly field: string;
  readonly message: string;
}

/** The rows in the order of the definitions. Throws if a kind has no field of its own in the snapshot. */
export function kindRows(kinds: readonly KindSchema[], proto: string): KindRow[] {
  const fields = snapshotFields(proto);
  return kinds.map(({ kind, plural, root }) => {
    const [own, ...more] = fields.filter(({ field }) => plural.endsWith(field));
    if (!own || more.length > 0) throw new Error(`${kind}: no single field of the Snapshot ends its plural ${plural}`);
    const isTenants = root.properties?.['spec']?.properties?.['gatewayNamespace'] !== undefined;
    return { kind, plural, owner: isTenants ? 'Tenant' : 'Platform', ...own };
  });
}

/** The text of contract/snapshot/kinds.gen.ts. */
export function snapshotKindsText(rows: readonly KindRow[], proto: string): string {
  // the message lists what refers to others first, and is transmitted the other way around
  const parentsFirst = snapshotFields(proto)
    .toReversed()
    .flatMap(({ field }) => rows.filter((row) => row.field === field));
  const messages = rows.map(({ message }) => message).sort();
  return `/** The kinds of a snapshot, generated from crds/ and snapshot.proto by \`npm run generate\`. */
import { ${messages.join(', ')} } from '../../contract/snapshot/snapshot.gen.ts';
import type { Snapshot } from '../../contract/snapshot/snapshot.gen.ts';

/** Parents first, which is the order of transmission; removals are sent in the opposite order. */
export const SNAPSHOT_KINDS = [
${parentsFirst.map(({ kind, field }) => `  { kind: '${kind}', field: '${field}' },\n`).join('')}] as const;

export type SnapshotKind = (typeof SNAPSHOT_KINDS)[number]['kind'];

/** The configuration of a gateway without objects. */
export const EMPTY_SNAPSHOT: Snapshot = {
${parentsFirst.map(({ field }) => `  ${field}: [],\n`).join('')}};

/** The fields by kind. */
export const FIELDS = {
${parentsFirst.map(({ kind, field }) => `  ${kind}: '${field}',\n`).join('')}} as const;

/** The messages by field. */
export const MESSAGES = {
${parentsFirst.map(({ field, message }) => `  ${field}: ${message},\n`).join('')}};

/** Their names. */
export const MESSAGE_NAMES = {
${parentsFirst.map(({ field, message }) => `  ${field}: '${message}',\n`).join('')}} as const;
`;
}

function snapshotFields(proto: string): Pick<KindRow, 'field' | 'message'>[] {
  const [, body = ''] = /^message Snapshot \{\n([^}]*)\}/m.exec(proto) ?? [];
  return [...body.matchAll(/repeated (\w+) (\w+) = \d+;/g)].map(([, message = '', field = '']) => ({ message, field }));
}
