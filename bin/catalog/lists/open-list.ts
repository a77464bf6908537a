/** Opens a price list of any known kind. */
import { parseExactJson } from './decimal-text.ts';
import type { PriceListReader } from './listed-price.ts';
import { openLitellm } from './litellm.ts';
import { openModelsDev } from './models-dev.ts';
import { openOpenrouter } from './openrouter.ts';
import { openPortkey } from './portkey.ts';

const KINDS = {
  openrouter: openOpenrouter,
  litellm: openLitellm,
  'models.dev': openModelsDev,
  portkey: openPortkey,
} as const;
export type ListKind = keyof typeof KINDS;
export const LIST_KINDS: readonly string[] = Object.keys(KINDS);

export interface OpenedList {
  readonly kind: ListKind;
  readonly list: PriceListReader;
}

/** Without `kind`, detects it. Throws an error with a message for users if the text is not a known list. */
export function openList(text: string, kind?: string): OpenedList {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    throw new Error(`not valid JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  for (const [name, open] of Object.entries(KINDS)) {
    if (kind !== undefined && kind !== name) continue;
    const list = open(value);
    // the names are the keys of KINDS
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (list) return { kind: name as ListKind, list };
  }
  throw new Error(kind === undefined ? `not a price list of ${LIST_KINDS.join(', ')}` : `not a price list of ${kind}`);
}
