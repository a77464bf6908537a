/**
 * Reasoning that a client keeps between two calls as one sealed text, with what proves whose it is. Only the channel
 * that made it gets it back, except for readable text, which any model may read.
 */
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { ChannelSeal } from '../sealed-values.ts';
import { readProof, writeProof } from './reasoning.ts';
import type { ReasoningProof } from './reasoning.ts';

const KIND = 'thinking';

export interface KeptReasoning {
  readonly text: string;
  /** Undefined: nobody has signed it. */
  readonly proof: ReasoningProof | undefined;
}

export function sealReasoning(seal: ChannelSeal, reasoning: KeptReasoning): string {
  return seal.seal(KIND, JSON.stringify(writeKept(reasoning)));
}

function writeKept({ text, proof }: KeptReasoning): object {
  if (!proof) return { type: 'reasoning', text };
  if ('redacted' in proof) return { type: 'redacted_thinking', data: proof.redacted };
  return { type: 'thinking', thinking: text, signature: writeProof(proof) };
}

/** Undefined: it is none, of another gateway, or signed for another channel. */
export function openReasoning(seal: ChannelSeal | undefined, sealed: unknown): KeptReasoning | undefined {
  const opened = typeof sealed === 'string' ? seal?.open(sealed) : undefined;
  if (opened?.kind !== KIND) return undefined;
  const kept = readKept(JSON.parse(opened.data));
  return kept?.proof === undefined || opened.channel === seal?.channel ? kept : undefined;
}

function readKept(value: unknown): KeptReasoning | undefined {
  if (!isRecord(value)) return undefined;
  switch (value['type']) {
    case 'thinking': {
      const proof = readProof(stringOf(value['signature']));
      return proof && { text: stringOf(value['thinking']), proof };
    }
    case 'redacted_thinking':
      return { text: '', proof: { maker: 'Anthropic', redacted: stringOf(value['data']) } };
    case 'reasoning':
      return textOf(value['text']) === undefined ? undefined : { text: stringOf(value['text']), proof: undefined };
    default:
      return undefined;
  }
}
