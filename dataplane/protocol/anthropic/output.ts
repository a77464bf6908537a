/**
 * Bytes of generated output, from which usage is estimated if the provider reports none.
 */
import { isRecord, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';

/** Of a whole content block. */
export function blockBytes(block: JsonRecord): number {
  return utf8Bytes(block['text']) + utf8Bytes(block['thinking']) + utf8Bytes(block['content'])
    + utf8Bytes(block['name']) + inputBytes(block['input']);
}

function inputBytes(input: unknown): number {
  if (!isRecord(input) || Object.keys(input).length === 0) return 0;
  try {
    return utf8Bytes(writeJson(input));
  } catch {
    // it nests too deeply to be written
    return 0;
  }
}

/** Of a content_block_delta's delta: every text in it except the signature, which is not generated. */
export function deltaBytes(delta: JsonRecord): number {
  // the usual case
  if (delta['type'] === 'text_delta' && typeof delta['text'] === 'string' && Object.keys(delta).length === 2)
    return Buffer.byteLength(delta['text']);
  return Object.entries(delta).filter(([name]) => name !== 'type' && name !== 'signature')
    .reduce((sum, [, value]) => sum + utf8Bytes(value), 0);
}
