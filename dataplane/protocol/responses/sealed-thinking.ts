/**
 * Thinking that a client keeps between two calls in `encrypted_content` of a reasoning item: Anthropic's blocks with
 * their signatures, and the readable reasoning of models that need it back, which some clients return no other way.
 */
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { ChannelSeal } from '../sealed-values.ts';

const KIND = 'thinking';

export type SealedThinking =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'reasoning'; readonly text: string };

export function sealThinking(seal: ChannelSeal, thinking: SealedThinking): string {
  return seal.seal(KIND, JSON.stringify(thinking));
}

/** Undefined: it is none, of another gateway, or signed for another channel. Readable reasoning is for any channel. */
export function openThinking(seal: ChannelSeal | undefined, sealed: unknown): SealedThinking | undefined {
  const opened = typeof sealed === 'string' ? seal?.open(sealed) : undefined;
  if (opened?.kind !== KIND) return undefined;
  const thinking = readThinking(JSON.parse(opened.data));
  return thinking?.type === 'reasoning' || opened.channel === seal?.channel ? thinking : undefined;
}

function readThinking(value: unknown): SealedThinking | undefined {
  if (!isRecord(value)) return undefined;
  switch (value['type']) {
    case 'thinking':
      return {
        type: 'thinking',
        thinking: stringOf(value['thinking']),
        signature: stringOf(value['signature']),
      };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: stringOf(value['data']) };
    case 'reasoning':
      return textOf(value['text']) === undefined ? undefined : { type: 'reasoning', text: stringOf(value['text']) };
    default:
      return undefined;
  }
}
