/**
 * Counts that are kept while the content of a chat request is walked, in either dialect.
 */
import type { ChatFacts, PricedWay, UnboundedFeature, UnboundedUse } from './call-facts.ts';
import { isGiven, isRecord, textOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { findImage } from './image-inputs.ts';

export interface ContentCounts {
  textBytes: number;
  units: number;
  images: number;
  imageParam: string | undefined;
  files: number;
  readonly unbounded: UnboundedUse[];
  /** Objects in which an image was searched for: blocks hold blocks, and each is searched once. */
  readonly searched: Set<object>;
}

export function startCounts(bodyBytes: number): ContentCounts {
  return {
    textBytes: bodyBytes,
    units: 0,
    images: 0,
    imageParam: undefined,
    files: 0,
    unbounded: [],
    searched: new Set(),
  };
}

/** The counts as facts of the call. */
export function countedFacts({
  textBytes,
  units,
  images,
  imageParam,
  files,
  unbounded,
}: ContentCounts): Pick<ChatFacts, 'textBytes' | 'units' | 'images' | 'imageParam' | 'files' | 'unbounded'> {
  return { textBytes: Math.max(0, textBytes), units, images, imageParam, files, unbounded };
}

/** `dataBytes`: the image's data within the body, which is not text. */
export function addImage(counts: ContentCounts, param: string, dataBytes: number): void {
  counts.images++;
  counts.imageParam ??= param;
  counts.textBytes -= dataBytes;
}

/** Adds the first image that is somewhere within a value. `searched`: objects that need no second search. */
export function addHiddenImage(counts: ContentCounts, value: JsonRecord, param: string, searched?: Set<object>): void {
  const image = findImage(value, param, searched);
  if (image !== undefined) addImage(counts, image, 0);
}

/** The error names one use of each feature, and of each part of a price that one needs. */
export function addUnbounded(counts: ContentCounts, feature: UnboundedFeature, param: string, needs?: PricedWay): void {
  add(counts, { feature, param, ...(needs && { needs }) });
}

/** A tool that the provider would run. */
export function addProviderTool(
  counts: ContentCounts,
  param: string,
  bound: Pick<UnboundedUse, 'needs' | 'boundBy'> = {},
): void {
  add(counts, { feature: 'ServerTools', param, droppable: true, ...bound });
}

function add({ unbounded }: ContentCounts, use: UnboundedUse): void {
  const isKnown = unbounded.some(
    ({ feature, droppable, needs }) =>
      feature === use.feature && droppable === use.droppable && isSameWay(needs, use.needs),
  );
  if (!isKnown) unbounded.push(use);
}

function isSameWay(a: PricedWay | undefined, b: PricedWay | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** A top-level field that can raise the price beyond any bound. `harmless`: its values that cannot. */
export interface PricedField {
  readonly field: string;
  readonly feature: UnboundedFeature;
  readonly harmless?: readonly unknown[];
  /** It is a tool, which the call can do without. */
  readonly droppable?: true;
  /** What its value names, if a catalog can have a price for that. */
  readonly names?: 'serviceTier' | 'region';
  readonly needs?: PricedWay;
}

export function addPricedFields(counts: ContentCounts, parsed: JsonRecord, fields: readonly PricedField[]): void {
  for (const { field, feature, harmless, droppable, names, needs } of fields) {
    const value = parsed[field];
    if (isEmpty(value) || harmless?.includes(value) === true) continue;
    const way = needs ?? namedWay(names, textOf(value));
    if (droppable) addProviderTool(counts, field, way ? { needs: way } : {});
    else addUnbounded(counts, feature, field, way);
  }
}

function namedWay(names: PricedField['names'], value: string | undefined): PricedWay | undefined {
  if (names === undefined || value === undefined) return undefined;
  return names === 'region' ? { region: value } : { serviceTier: value };
}

function isEmpty(value: unknown): boolean {
  return !isGiven(value) || value === false || value === '' || (Array.isArray(value) && value.length === 0);
}

/** The provider's names of the tier that a price's own rates are for. */
const STANDARD_NAMES: ReadonlySet<unknown> = new Set(['default', 'standard', 'standard_only']);

/** The tier that a request asks for, or an answer names; undefined: none, or whichever the provider chooses. */
export function readServiceTier(value: unknown): string | undefined {
  if (STANDARD_NAMES.has(value)) return 'standard';
  return typeof value === 'string' && value !== '' && value !== 'auto' ? value : undefined;
}

/** Bytes of the data in a `data:image/…;base64,…` URL; 0 for any other. Escapes in the body only make it longer. */
export function dataUrlBytes(url: string): number {
  const head = /^data:image\/[a-z0-9.+-]{1,40}(?:;[a-z0-9=.+-]{1,60}){0,4};base64,/i.exec(url.slice(0, 400));
  return head ? url.length - head[0].length : 0;
}

/**
 * Whether any cache_control, on a block, a tool or the request itself, asks for longer than the default five minutes.
 */
export function asksForLongCache(parsed: JsonRecord): boolean {
  const pending: unknown[] = [parsed];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (Array.isArray(value)) for (const item of value) pushContainer(pending, item);
    else if (isRecord(value)) {
      for (const name of Object.keys(value)) {
        if (name === 'cache_control' && hasLongTtl(value[name])) return true;
        pushContainer(pending, value[name]);
      }
    }
  }
  return false;
}

function pushContainer(pending: unknown[], value: unknown): void {
  if (typeof value === 'object' && value !== null) pending.push(value);
}

function hasLongTtl(control: unknown): boolean {
  return isRecord(control) && isGiven(control['ttl']) && control['ttl'] !== '5m';
}
