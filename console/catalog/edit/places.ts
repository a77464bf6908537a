/** [P] What can be edited by a form: the spec of an object, or one entry of a list in it. */
import type { Kind } from '#crds/types.gen.ts';
import type { FieldPath } from '#crds/field-path.ts';
import type { Json, JsonObject } from '#crds/json.ts';
import { isJsonObject, itemsOf, toJson } from '#crds/json.ts';
import type { SchemaNode } from '#crds/kind-schema.ts';
import type { NavigationItem, Schemas } from '../../route.ts';
import type { EditedObject } from '../compute-change.ts';

export type EditedKind = Extract<Kind, 'Group' | 'ModelRoute' | 'PriceCatalog'>;

export interface Place {
  /** In the form's address: "/edit/price". */
  readonly id: string;
  readonly kind: EditedKind;
  /** What is edited, in words: "price". */
  readonly noun: string;
  /** The list whose entries are edited; undefined: the spec itself. */
  readonly list?: 'models' | 'channels';
  /** Fields with forms of their own, which the form of an object that exists leaves out. */
  readonly without?: readonly string[];
  /** Optional fields that are in sight before they have a value. */
  readonly usual: readonly string[];
  /** The page above. */
  readonly above: { readonly path: string; readonly label: string };
  readonly active: NavigationItem;
}

const GROUPS = { above: { path: '/groups', label: 'Groups' }, active: 'groups' } as const;
const ROUTES = { above: { path: '/routes', label: 'Routes' }, active: 'routes' } as const;
const CATALOGS = { above: { path: '/catalogs', label: 'Price catalogs' }, active: 'catalogs' } as const;

export const MODEL_PLACE: Place = {
  id: 'model',
  kind: 'ModelRoute',
  noun: 'model',
  list: 'models',
  usual: ['endpoints', 'inputs', 'contextTokens', 'maxOutputTokens'],
  ...ROUTES,
};

export const PRICE_PLACE: Place = {
  id: 'price',
  kind: 'PriceCatalog',
  noun: 'price',
  list: 'models',
  usual: ['usdPerMillion', 'requestUsd'],
  ...CATALOGS,
};

export const PLACES: readonly Place[] = [
  {
    id: 'group',
    kind: 'Group',
    noun: 'group',
    usual: ['displayName', 'priceRatio', 'routes', 'allowedNamespaces'],
    ...GROUPS,
  },
  MODEL_PLACE,
  {
    id: 'channel',
    kind: 'ModelRoute',
    noun: 'channel',
    list: 'channels',
    usual: ['priority', 'weight', 'maxConcurrency', 'credentialRef'],
    ...ROUTES,
  },
  {
    id: 'route',
    kind: 'ModelRoute',
    noun: 'route',
    without: ['models', 'channels', 'drainedChannels'],
    usual: ['routing', 'clientDisconnect', 'onTimeout'],
    ...ROUTES,
  },
  PRICE_PLACE,
  {
    id: 'catalog',
    kind: 'PriceCatalog',
    noun: 'catalog',
    without: ['models'],
    usual: ['purpose', 'ratioBaseUsd'],
    ...CATALOGS,
  },
];

/** The schema of what is edited. A new object has all fields, as it has no entries yet to be edited on their own. */
export function schemaOf(schemas: Schemas, { kind, list, without = [] }: Place, isNew: boolean): SchemaNode {
  const spec = schemas.get(kind)?.root.properties?.['spec'];
  if (!spec) throw new Error(`${kind} has no schema`);
  if (list === undefined) return isNew ? spec : withoutProperties(spec, without);
  const entry = spec.properties?.[list]?.items;
  if (!entry) throw new Error(`${kind} has no list ${list}`);
  return entry;
}

/** The schema of an object without some of its fields. */
export function withoutProperties(node: SchemaNode, names: readonly string[]): SchemaNode {
  const properties = Object.entries(node.properties ?? {}).filter(([name]) => !names.includes(name));
  return { ...node, properties: Object.fromEntries(properties) };
}

/** An object's spec as JSON. */
export function specOf({ spec }: Pick<EditedObject, 'spec'>): JsonObject {
  const json = toJson(spec);
  return isJsonObject(json) ? json : {};
}

/** Where the entry of that name is in the spec; undefined: the list has none. */
export function indexOf(list: 'models' | 'channels', spec: JsonObject, entry: string): number | undefined {
  const index = itemsOf(spec[list]).findIndex((each) => isJsonObject(each) && each['name'] === entry);
  return index === -1 ? undefined : index;
}

/** The path of a new entry, or of the one at that index. */
export function pathOf({ list }: Place, spec: JsonObject, index: number | undefined): FieldPath {
  return list === undefined ? ['spec'] : ['spec', list, index ?? itemsOf(spec[list]).length];
}

/** The part as it is; an entry that is new has nothing. */
export function partOf({ list }: Place, spec: JsonObject, index: number | undefined): Json {
  if (list === undefined) return spec;
  return index === undefined ? {} : (itemsOf(spec[list])[index] ?? {});
}

/** The spec with the part in place; what the form left out stays. */
export function withPart(
  { list, without = [] }: Place,
  spec: JsonObject,
  { index, part }: { readonly index: number | undefined; readonly part: JsonObject },
): JsonObject {
  if (list === undefined) {
    const kept = Object.entries(spec).filter(([name]) => without.includes(name));
    return { ...Object.fromEntries(kept), ...part };
  }
  const entries = itemsOf(spec[list]);
  return { ...spec, [list]: index === undefined ? [...entries, part] : entries.with(index, part) };
}
