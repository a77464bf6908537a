/** Reads and writes `reasoning_details`, by which a provider of other makers' models keeps their reasoning. */
import type { ReasoningPart } from '../../conversation/request.ts';
import type { ReasoningProof } from '../../conversation/reasoning.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { DETAIL_FORMATS, detailMaker, detailText } from '../../openai/detail-formats.ts';
import type { ChannelSeal } from '../../sealed-values.ts';
import { shortenCallId } from '../../tool-ids.ts';
import { openProof, sealProof } from '../openai-proof.ts';

export interface ReasoningDetail {
  /** Empty: it has no readable text. */
  readonly text: string;
  readonly proof: ReasoningProof | undefined;
}

/** The pieces of reasoning in a message or a delta. A piece may go on in the next delta until its proof comes. */
export function readDetails(details: unknown, seal: ChannelSeal | undefined): readonly ReasoningDetail[] {
  return itemsOf(details)
    .filter(isRecord)
    .map((detail) => ({ text: detailText(detail), proof: proofOf(detail, seal) }));
}

function proofOf(detail: JsonRecord, seal: ChannelSeal | undefined): ReasoningProof | undefined {
  const { type, id } = detail;
  const [signature, data] = [textOf(detail['signature']), textOf(detail['data'])];
  const maker = detailMaker(detail);
  if (maker === 'Anthropic' && signature !== undefined) return { maker, signature };
  if (type !== 'reasoning.encrypted' || data === undefined) return undefined;
  switch (maker) {
    case 'Anthropic':
      return { maker, redacted: data };
    case 'Gemini':
      return { maker, signature: data, callId: textOf(id) };
    case 'OpenAI':
      return sealProof({ id: stringOf(id), content: data }, seal);
    case undefined:
      return undefined;
  }
}

/** The details of an earlier turn, in its order. What only another account can read is left out. */
export function writeDetails(parts: readonly ReasoningPart[], seal: ChannelSeal | undefined): readonly JsonRecord[] {
  return parts.flatMap((part, index) => detailsOf(part, seal).map((detail) => ({ ...detail, index })));
}

function detailsOf({ text, proof }: ReasoningPart, seal: ChannelSeal | undefined): readonly JsonRecord[] {
  if (!proof) return [];
  const format = DETAIL_FORMATS[proof.maker];
  switch (proof.maker) {
    case 'Anthropic':
      return 'redacted' in proof
        ? [{ type: 'reasoning.encrypted', data: proof.redacted, format }]
        : [{ type: 'reasoning.text', text, signature: proof.signature, format }];
    case 'Gemini': {
      const id = proof.callId === undefined ? undefined : shortenCallId(proof.callId);
      const readable = text === '' ? [] : [{ type: 'reasoning.text', text, format }];
      return [...readable, { type: 'reasoning.encrypted', data: proof.signature, id, format }];
    }
    case 'OpenAI': {
      const data = openProof(proof, seal);
      if (data === undefined) return [];
      const readable = text === '' ? [] : [{ type: 'reasoning.summary', summary: text, id: proof.id, format }];
      return [...readable, { type: 'reasoning.encrypted', data, id: proof.id, format }];
    }
  }
}
