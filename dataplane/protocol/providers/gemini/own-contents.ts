/**
 * Contents that pass through, without what Google refuses and its clients keep all the same: signatures that another
 * provider's channel made, and empty texts (Vertex refuses the whole request for one, and streams hold them).
 */
import { isGiven, isRecord, itemsOf } from '../../fields.ts';
import { NO_SIGNATURE, readSignature } from '../../gemini/thought-signature.ts';
import { isSealed } from '../../sealed-values.ts';

/** Whether a content has something to leave out. */
export function needsRepair(contents: unknown): boolean {
  return itemsOf(contents).some((content) => partsOf(content).some(isRefused));
}

/** A content of nothing else is left out, unless no other is left. */
export function ownContents(contents: unknown): readonly unknown[] {
  const given = itemsOf(contents);
  const kept = given.map(ownContent).filter((content) => !isRecord(content) || !isBare(content['parts']));
  return kept.length > 0 ? kept : given;
}

function ownContent(content: unknown): unknown {
  if (!isRecord(content) || !partsOf(content).some(isRefused)) return content;
  return {
    ...content,
    parts: partsOf(content)
      .map(withoutForeignSignature)
      .filter((part) => !isEmptyText(part)),
  };
}

function isBare(parts: unknown): boolean {
  return Array.isArray(parts) && parts.length === 0;
}

function partsOf(content: unknown): readonly unknown[] {
  return itemsOf(isRecord(content) ? content['parts'] : undefined);
}

function isRefused(part: unknown): boolean {
  return isEmptyText(part) || isForeign(part);
}

/** Whether a gateway's own channel of another provider made a signature. */
function isForeign(part: unknown): boolean {
  if (!isRecord(part)) return false;
  const signature = part['thoughtSignature'] ?? part['thought_signature'];
  return readSignature(signature).some(isSealed);
}

/** An empty text that has a signature carries it. */
function isEmptyText(part: unknown): boolean {
  return isRecord(part) && part['text'] === '' && Object.keys(part).length === 1;
}

function withoutForeignSignature(part: unknown): unknown {
  if (!isRecord(part) || !isForeign(part)) return part;
  const { thoughtSignature: _camel, thought_signature: _snake, ...rest } = part;
  const isCall = isGiven(rest['functionCall']) || isGiven(rest['function_call']);
  return isCall ? { ...rest, thoughtSignature: NO_SIGNATURE } : rest;
}
