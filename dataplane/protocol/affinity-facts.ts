/**
 * What a chat request says about the conversation that it belongs to, in all dialects: routing gives the calls of one
 * conversation to one channel, which has its prompt cache and can read its encrypted reasoning.
 */
import { hash } from 'node:crypto';
import { readProof } from './conversation/reasoning.ts';
import { isGiven, isRecord, itemsOf, stringOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { sealedInContents } from './gemini/thought-signature.ts';
import { isSealed, sealedIdIn } from './sealed-values.ts';

export interface AffinityFacts {
  /** The name that the client gives to the conversation's cache; undefined: none. */
  readonly cacheKey: string | undefined;
  /** A digest of the system prompt and the first message. */
  readonly opening: string;
  /** Sealed reasoning, in the order of the conversation: another channel can do without it. */
  readonly sealed: readonly string[];
  /** Sealed values that only the channel which made them can use: the previous response, a conversation. */
  readonly bound: readonly string[];
}

export type ConversationKind = 'OpenAIChat' | 'AnthropicChat' | 'Responses' | 'Gemini';

/** The first ones decide; a conversation has one for each turn. */
const MAX_SEALED = 64;

export function readAffinity(kind: ConversationKind, parsed: JsonRecord): AffinityFacts {
  const { prompt_cache_key: cacheKey } = parsed;
  return {
    cacheKey: typeof cacheKey === 'string' && cacheKey !== '' ? cacheKey : undefined,
    opening: digest(OPENINGS[kind](parsed)),
    ...findSealedOf(kind, parsed),
  };
}

const OPENINGS: Readonly<Record<ConversationKind, (parsed: JsonRecord) => unknown>> = {
  OpenAIChat: ({ messages }) => untilFirstUser(messages),
  AnthropicChat: ({ system, messages }) => [system, untilFirstUser(messages)],
  Responses: ({ instructions, input }) => [instructions, untilFirstUser(input)],
  Gemini: ({ systemInstruction, contents }) => [systemInstruction, untilFirstUser(contents)],
};

/** The items up to the first of the user; what is no list stays as it is. */
function untilFirstUser(items: unknown): unknown {
  if (!Array.isArray(items)) return items;
  const first = items.findIndex((item) => isRecord(item) && item['role'] === 'user');
  return first < 0 ? items.slice(0, 1) : items.slice(0, first + 1);
}

/** Members that move along the conversation, from message to message. */
const MOVING = ['cache_control', 'prompt_cache_breakpoint'];

function digest(opening: unknown): string {
  return hash('sha256', openingText(opening), 'base64url');
}

function openingText(opening: unknown): string {
  const text = JSON.stringify(opening) ?? '';
  if (!MOVING.some((name) => text.includes(name))) return text;
  return JSON.stringify(opening, (name, value: unknown) => (MOVING.includes(name) ? undefined : value)) ?? '';
}

function findSealedOf(kind: ConversationKind, parsed: JsonRecord): Pick<AffinityFacts, 'sealed' | 'bound'> {
  if (kind === 'Gemini') return { sealed: sealedInContents(parsed['contents']).slice(0, MAX_SEALED), bound: [] };
  return kind === 'Responses' ? findSealed(parsed) : { sealed: sealedInMessages(parsed['messages']), bound: [] };
}

/** Where messages keep signatures of reasoning: Anthropic's blocks, and what clients of chat completions return. */
const KEPT_IN = ['content', 'reasoning_details', 'thinking_blocks'] as const;

/** The sealed reasoning of OpenAI's that clients of chat completions and messages keep as signatures. */
function sealedInMessages(messages: unknown): readonly string[] {
  return itemsOf(messages)
    .filter(isRecord)
    .flatMap((message) => KEPT_IN.flatMap((member) => itemsOf(message[member])))
    .flatMap((kept) => (isRecord(kept) && isGiven(kept['signature']) ? [readProof(stringOf(kept['signature']))] : []))
    .flatMap((proof) => (proof?.maker === 'OpenAI' && isSealed(proof.encrypted) ? [proof.encrypted] : []))
    .slice(0, MAX_SEALED);
}

function findSealed(parsed: JsonRecord): Pick<AffinityFacts, 'sealed' | 'bound'> {
  const { previous_response_id: previous, conversation, input } = parsed;
  const { sealed, bound } = sealedInItems(input);
  return {
    sealed,
    bound: [previous, conversation]
      .map(sealedIdIn)
      .filter((id) => id !== undefined)
      .concat(bound),
  };
}

/** The sealed values of items in the Responses dialect. */
export function sealedInItems(items: unknown): Pick<AffinityFacts, 'sealed' | 'bound'> {
  const sealed: string[] = [];
  const bound: string[] = [];
  for (const item of itemsOf(items)) {
    const content = isRecord(item) ? item['encrypted_content'] : undefined;
    if (!isRecord(item) || !isSealed(content)) continue;
    const list = stringOf(item['type']) === 'reasoning' ? sealed : bound;
    if (list.length < MAX_SEALED) list.push(content);
  }
  return { sealed, bound };
}
