/** Writes conversations as the Parrot's lines, which are text only. */
import { prepare } from '../../../../../dataplane/protocol/conversation/prepare.ts';
import type { Conversation, TextPart, Turn } from '../../../../../dataplane/protocol/conversation/request.ts';
import { takeSettings } from '../../../../../dataplane/protocol/conversation/take.ts';
import type { SettingsTable } from '../../../../../dataplane/protocol/conversation/take.ts';
import { converted, dropped as leftOut, omitted } from '../../../../../dataplane/protocol/field-table.ts';
import type { JsonRecord } from '../../../../../dataplane/protocol/fields.ts';
import type { WriteContext, WrittenRequest } from '../../../../../dataplane/protocol/providers/chat-provider.ts';
import { unsupported } from '../../../../../dataplane/protocol/unsupported.ts';

/** The name of the protocol in refusals. */
export const NAME = 'the Parrot';

const NOTHING = leftOut('a parrot has nothing of the kind');
const NAMED = omitted('a parrot has no such setting');

/** The compiler asks for a row for each setting. */
const SETTINGS: SettingsTable = {
  maxOutputTokens: converted('`most`'),
  temperature: leftOut('a parrot has no temperature'),
  topP: NOTHING,
  topK: NOTHING,
  seed: NAMED,
  frequencyPenalty: NAMED,
  presencePenalty: NAMED,
  stop: NAMED,
  candidates: omitted('one at a time', [1]),
  modalities: NAMED,
  imageConfig: NAMED,
  logProbabilities: NAMED,
  effort: NAMED,
  reasoning: NAMED,
  verbosity: NAMED,
  responseFormat: NAMED,
  toolChoice: NOTHING,
  parallelToolCalls: NOTHING,
  user: NOTHING,
  promptCacheKey: NOTHING,
  cache: NOTHING,
  serviceTier: NAMED,
};

/** Throws RequestFault for what cannot be a line. */
export function writeRequest(conversation: Conversation, { plan, stream, dropped }: WriteContext): WrittenRequest {
  const settings = takeSettings(SETTINGS, conversation.settings, { provider: NAME, dropped });
  const [tool] = conversation.tools;
  if (tool) throw unsupported(tool.path, NAME, 'a parrot calls nothing');
  // what a provider needs of turns is repaired before they are written
  const { system, turns } = prepare(conversation.turns, {
    reasoning: { proofs: [], readable: false },
    system: 'AsUserText',
    assistantImages: false,
    alternates: true,
    blanks: false,
    prefill: true,
  });
  const body = {
    bird: plan.upstreamModel,
    lines: [...system.map(systemLine), ...turns.map(writeTurn)],
    most: plan.maxOutputTokens ?? settings.maxOutputTokens?.value,
    live: stream,
  };
  return { path: '/say', body, toolNames: undefined };
}

function systemLine({ text }: TextPart): JsonRecord {
  return { who: 'system', what: text };
}

function writeTurn(turn: Turn): JsonRecord {
  const texts = turn.parts.map((part) => {
    if (part.type === 'Text' || part.type === 'Refusal') return part.text;
    throw unsupported(part.path, NAME, 'it takes text only');
  });
  return { who: turn.role === 'Assistant' ? 'assistant' : 'user', what: texts.join('') };
}
