/**
 * `mgw catalog import`: converts a public price list to a PriceCatalog for a pull request, with the source of each
 * figure. It refuses by name what it cannot convert exactly, and guesses nothing.
 */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { API_VERSION } from '#crds/types.gen.ts';
import { textTable } from '../text-table.ts';
import { toCatalogEntry } from './lists/listed-price.ts';
import type { CatalogEntry } from './lists/listed-price.ts';
import type { OpenedList } from './lists/open-list.ts';

/** A model to import: its name in the catalog, and its key in the list if that differs. */
export interface WantedModel {
  readonly name: string;
  /** Exact keys, of which the first that the list has is used. */
  readonly keys: readonly string[];
}

interface ImportRequest {
  readonly name: string;
  readonly source: OpenedList;
  /** The list's text, which is hashed. */
  readonly text: string;
  readonly wanted: readonly WantedModel[];
  readonly allowFree: boolean;
  readonly revision: string | undefined;
  /** The date, such as 2026-11-23. */
  readonly date: string;
  readonly other?: SecondList | undefined;
}

/** What the imported figures are compared with: another public list, or a catalog. */
export interface SecondList {
  /** Its name in remarks. */
  readonly kind: string;
  /** `keys`: what the model may be called there. */
  entryOf(name: string, keys: readonly string[]): CatalogEntry | undefined;
}

/** Undefined: the list has no such figure. */
export interface Difference {
  readonly model: string;
  readonly figure: string;
  readonly mine: string | undefined;
  readonly theirs: string | undefined;
}

export interface Imported {
  /** The manifest as YAML; undefined if no model could be imported. */
  readonly manifest: string | undefined;
  /** What a reviewer must know, one line each. */
  readonly remarks: readonly string[];
  /** Figures in which the second list differs. */
  readonly differences: readonly Difference[];
  /** Models that could not be imported. */
  readonly missing: readonly string[];
}

const PREFIX = 'prices.modelgateway.dev';

export function importCatalog(request: ImportRequest): Imported {
  const {
    source: { kind, list },
    wanted,
    allowFree,
    text,
  } = request;
  const entries: CatalogEntry[] = [];
  const remarks: string[] = [];
  const missing: string[] = [];
  const differences: Difference[] = [];
  for (const { name, keys } of wanted) {
    const key = keys.find((each) => list.read(each) !== undefined);
    const price = key === undefined ? undefined : list.read(key);
    if (!price) {
      missing.push(name);
      remarks.push(`${name}: not in the price list.${proposal(name, list.keys)}`);
      continue;
    }
    const { entry, remarks: said } = toCatalogEntry(name, price, { allowFree });
    remarks.push(...said.map((what) => `${name}: ${what}`));
    if (entry) entries.push(entry);
    else missing.push(name);
    if (!entry || !request.other) continue;
    const second = request.other.entryOf(name, keys);
    if (second) differences.push(...differencesOf(name, entry, second));
    else remarks.push(`${name}: ${request.other.kind} has no such key`);
  }
  if (entries.length === 0) return { manifest: undefined, remarks, missing, differences };
  const annotations = {
    [`${PREFIX}/source`]: kind,
    ...(request.revision !== undefined && { [`${PREFIX}/revision`]: request.revision }),
    [`${PREFIX}/date`]: request.date,
    [`${PREFIX}/sha256`]: createHash('sha256').update(text).digest('hex'),
  };
  const manifest = stringify(
    {
      apiVersion: API_VERSION,
      kind: 'PriceCatalog',
      metadata: { name: request.name, annotations },
      spec: { models: entries },
    },
    { lineWidth: 120, compat: 'yaml-1.1' },
  );
  return { manifest, remarks, missing, differences };
}

export function figuresOfList({ kind, list }: OpenedList, allowFree: boolean): SecondList {
  return {
    kind,
    entryOf(name, keys) {
      const found = [...keys, name, ...list.keys.filter((key) => key.endsWith(`/${name}`))]
        .map((key) => list.read(key))
        .find((price) => price !== undefined);
      return found && (toCatalogEntry(name, found, { allowFree }).entry ?? {});
    },
  };
}

/** Keys that contain the name, for a person to choose from. */
function proposal(name: string, keys: readonly string[]): string {
  const plain = name.toLowerCase();
  const near = keys.filter((key) => key.toLowerCase().includes(plain)).slice(0, 5);
  return near.length === 0 ? '' : ` Similar keys: ${near.join(', ')}. Choose one with --models ${name}=KEY.`;
}

function differencesOf(model: string, entry: CatalogEntry, second: CatalogEntry): Difference[] {
  const [mine, theirs] = [flat(entry), flat(second)];
  return [...new Set([...mine.keys(), ...theirs.keys()])]
    .filter((figure) => mine.get(figure) !== theirs.get(figure))
    .map((figure) => ({ model, figure, mine: mine.get(figure), theirs: theirs.get(figure) }));
}

/** The differences as a table's lines; none if there are no differences. */
export function differenceTable(differences: readonly Difference[], mine: string, theirs: string): string[] {
  if (differences.length === 0) return [];
  return textTable([
    ['MODEL', 'FIGURE', mine.toUpperCase(), theirs.toUpperCase()],
    ...differences.map((each) => [each.model, each.figure, each.mine ?? '-', each.theirs ?? '-']),
  ]);
}

/** Every figure of an entry, by its path. */
function flat(value: unknown, path = ''): Map<string, string> {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return new Map(items.flatMap((item) => [...flat(item, `${path} above ${stepOf(item)}`)]));
  }
  if (typeof value !== 'object' || value === null) return new Map([[path, String(value)]]);
  return new Map(
    Object.entries(value)
      .filter(([name]) => !['name', 'vendor', 'above'].includes(name))
      .flatMap(([name, member]) => [...flat(member, path === '' ? name : `${path}.${name}`)]),
  );
}

function stepOf(item: unknown): string {
  return typeof item === 'object' && item !== null && 'above' in item ? String(item.above) : '';
}
