/** [P] The parts of objects that have a form: a whole spec, or one entry of a list in it. */
import type { Kind } from '#crds/types.gen.ts';
import type { FieldPath } from '#crds/field-path.ts';
import type { Json, JsonObject } from '#crds/json.ts';
import { isJsonObject } from '#crds/json.ts';
import type { KindSchema, SchemaNode } from '#crds/kind-schema.ts';
import type { NavigationItem } from '../../route.ts';
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

/** The schema of the place's part; `isNew`: of an object that has no forms of its own yet. */
export function schemaOf({ list, without = [] }: Place, { root }: KindSchema, isNew: boolean): SchemaNode {
  const spec = root.properties?.['spec'];
  const node = list === undefined ? spec : spec?.properties?.[list]?.items;
  if (!node) throw new Error("a place is in its kind's schema");
  return isNew ? node : withoutProperties(node, without);
}

/** The schema of an object without some of its fields. */
export function withoutProperties(node: SchemaNode, names: readonly string[]): SchemaNode {
  const properties = Object.entries(node.properties ?? {}).filter(([name]) => !names.includes(name));
  return { ...node, properties: Object.fromEntries(properties) };
}

/** An object's spec as JSON. */
export function specOf({ spec }: Pick<EditedObject, 'spec'>): JsonObject {
  const json: Json = JSON.parse(JSON.stringify(spec));
  return isJsonObject(json) ? json : {};
}

/** Where the entry of that name is in the spec; undefined: the list has none. */
export function indexOf(list: 'models' | 'channels', spec: JsonObject, entry: string): number | undefined {
  const index = entriesOf(list, spec).findIndex((each) => isJsonObject(each) && each['name'] === entry);
  return index === -1 ? undefined : index;
}

/** The path of a new entry, or of the one at that index. */
export function pathOf({ list }: Place, spec: JsonObject, index: number | undefined): FieldPath {
  return list === undefined ? ['spec'] : ['spec', list, index ?? entriesOf(list, spec).length];
}

/** The part as it is; an entry that is new has nothing. */
export function partOf({ list }: Place, spec: JsonObject, index: number | undefined): Json {
  if (list === undefined) return spec;
  return index === undefined ? {} : (entriesOf(list, spec)[index] ?? {});
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
  const entries = entriesOf(list, spec);
  return { ...spec, [list]: index === undefined ? [...entries, part] : entries.with(index, part) };
}

function entriesOf(list: 'models' | 'channels', spec: JsonObject): readonly Json[] {
  const entries = spec[list];
  return Array.isArray(entries) ? entries : [];
}
