/**
 * The text in Anthropic's messages, for the meters.
 */
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import type { OutputTally } from '../output-tally.ts';

/** Adds a whole content block. */
export function tallyBlock(tally: OutputTally, block: JsonRecord): void {
  for (const name of ['text', 'thinking', 'content', 'name']) tally.add(block[name]);
  tallyInput(tally, block['input']);
}

function tallyInput(tally: OutputTally, input: unknown): void {
  if (!isRecord(input) || Object.keys(input).length === 0) return;
  try {
    tally.add(writeJson(input));
  } catch {
    // it nests too deeply to be written, and counts as no text
  }
}

/** Adds a content_block_delta's delta: every text in it except the signature, which is not generated. */
export function tallyDelta(tally: OutputTally, delta: JsonRecord): void {
  for (const name of Object.keys(delta)) if (name !== 'type' && name !== 'signature') tally.add(delta[name]);
}
