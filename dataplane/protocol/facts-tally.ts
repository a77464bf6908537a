/**
 * What is counted while a chat request is walked, in either dialect.
 */
import type { UnboundedFeature, UnboundedUse } from './call-facts.ts';
import { isGiven, isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';

export interface FactsTally {
  textBytes: number;
  units: number;
  images: number;
  imageParam: string | undefined;
  files: number;
  readonly unbounded: UnboundedUse[];
}

export function startTally(bodyBytes: number): FactsTally {
  return { textBytes: bodyBytes, units: 0, images: 0, imageParam: undefined, files: 0, unbounded: [] };
}

/** `dataBytes`: the image's own data within the body, which is no text. */
export function addImage(tally: FactsTally, param: string, dataBytes: number): void {
  tally.images++;
  tally.imageParam ??= param;
  tally.textBytes -= dataBytes;
}

/** One use of each feature is enough to name. */
export function addUnbounded(tally: FactsTally, feature: UnboundedFeature, param: string): void {
  if (!tally.unbounded.some((use) => use.feature === feature)) tally.unbounded.push({ feature, param });
}

/** A top-level field that can raise the price beyond any bound, and the values of it that cannot. */
export interface PricedField {
  readonly field: string;
  readonly feature: UnboundedFeature;
  readonly harmless?: readonly unknown[];
}

export function addPricedFields(tally: FactsTally, parsed: JsonRecord, fields: readonly PricedField[]): void {
  for (const { field, feature, harmless } of fields) {
    const value = parsed[field];
    // as nearly all are
    if (value === undefined) continue;
    const empty = value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0);
    if (!empty && harmless?.includes(value) !== true) addUnbounded(tally, feature, field);
  }
}

/** Bytes of the data in a `data:image/…;base64,…` URL; 0 for any other. Escapes in the body only make it longer. */
export function dataUrlBytes(url: string): number {
  const head = /^data:image\/[a-z0-9.+-]{1,40}(?:;[a-z0-9=.+-]{1,60}){0,4};base64,/i.exec(url.slice(0, 400));
  return head ? url.length - head[0].length : 0;
}

/**
 * Asks for cache writes that outlive the usual five minutes, anywhere: cache_control sits on blocks, tools and the request
 * itself. Values are walked: a search through the bytes stops at each quote, and takes longer.
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
