/**
 * Every client brings back the reasoning of a response in its next request, with the proof of whoever made it, and the
 * maker gets it as it was.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import type { ChatDialect } from '../../../../../dataplane/protocol/call-facts.ts';
import type { Client } from '../../../../../dataplane/protocol/clients/client.ts';
import { UNREPORTED_USAGE } from '../../../../../dataplane/protocol/usage.ts';
import type { ReasoningProof } from '../../../../../dataplane/protocol/conversation/reasoning.ts';
import type { AssistantPart, Conversation } from '../../../../../dataplane/protocol/conversation/request.ts';
import type { ResponsePart } from '../../../../../dataplane/protocol/conversation/response.ts';
import { DroppedFields } from '../../../../../dataplane/protocol/dropped-fields.ts';
import { itemsOf } from '../../../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../../../dataplane/protocol/fields.ts';
import { parseObject } from '../../../../../dataplane/protocol/json-value.ts';
import type { ChatProvider } from '../../../../../dataplane/protocol/providers/chat-provider.ts';
import { anthropicChat } from '../../../../../dataplane/protocol/providers/anthropic/chat.ts';
import { converseChat } from '../../../../../dataplane/protocol/providers/converse/chat.ts';
import { geminiChat } from '../../../../../dataplane/protocol/providers/gemini/chat.ts';
import { openaiChat } from '../../../../../dataplane/protocol/providers/openai-chat/chat.ts';
import { responsesChat } from '../../../../../dataplane/protocol/providers/responses/chat.ts';
import { sealFor } from '../seal.ts';
import { base64, callArguments, callId, said } from './arbitrary-conversations.ts';
import { SIDES } from './round-trips.ts';

const RUNS = { numRuns: 50 };
const seal = sealFor('one');
const NOTES = { keepsReasoning: true, includeThoughts: true };
const CONTEXT = { id: 'req-1', createdSeconds: 1, nowSeconds: () => 1, model: 'm', notes: NOTES, seal };

type Call = Extract<ResponsePart, { readonly type: 'ToolCall' }>;

interface Maker {
  readonly name: string;
  readonly proof: (signature: string, call: Call) => ReasoningProof | undefined;
  /** Its reasoning has a text. */
  readonly readable: boolean;
  readonly signs: boolean;
  readonly providers: readonly { readonly provider: ChatProvider; readonly model: string }[];
}

const CLAUDE = [
  { provider: anthropicChat, model: 'claude-opus-4-6' },
  { provider: converseChat, model: 'anthropic.claude-opus-4-6' },
];
const GEMINI = [{ provider: geminiChat, model: 'gemini-3-flash-preview' }];

const MAKERS: readonly Maker[] = [
  {
    name: 'Anthropic',
    proof: (signature) => ({ maker: 'Anthropic', signature }),
    readable: true,
    signs: true,
    providers: CLAUDE,
  },
  {
    name: 'Anthropic, for nobody else to read',
    proof: (redacted) => ({ maker: 'Anthropic', redacted }),
    readable: false,
    signs: true,
    providers: CLAUDE,
  },
  {
    name: 'Gemini',
    proof: (signature) => ({ maker: 'Gemini', signature, callId: undefined }),
    readable: true,
    signs: true,
    providers: GEMINI,
  },
  {
    name: 'Gemini, of a call',
    proof: (signature, { id }) => ({ maker: 'Gemini', signature, callId: id }),
    readable: true,
    signs: true,
    providers: GEMINI,
  },
  {
    name: 'OpenAI',
    proof: (encrypted) => ({ maker: 'OpenAI', id: 'rs_1', encrypted }),
    readable: true,
    signs: true,
    providers: [{ provider: responsesChat, model: 'gpt-5.4' }],
  },
  {
    name: 'a model that signs nothing',
    proof: () => undefined,
    readable: true,
    signs: false,
    providers: [{ provider: openaiChat, model: 'deepseek-v4' }],
  },
];

/** The next request of a client that keeps the response as it came. */
const NEXT: Readonly<Record<ChatDialect, (response: JsonRecord) => JsonRecord>> = {
  OpenAI: ({ choices }) => ({
    messages: [{ role: 'user', content: 'hi' }, itemsOf(choices).map((choice) => (choice as JsonRecord)['message'])[0]],
  }),
  Responses: ({ output }) => ({ input: [{ role: 'user', content: 'hi' }, ...itemsOf(output)] }),
  Anthropic: ({ content }) => ({
    max_tokens: 9000,
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
    ],
  }),
  Gemini: ({ candidates }) => ({
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      itemsOf(candidates).map((candidate) => (candidate as JsonRecord)['content'])[0],
    ],
  }),
};

function withoutPath(part: AssistantPart): unknown {
  const { path: _client, cache: _none, ...rest } = part;
  if (rest.type !== 'ToolCall') return rest;
  const given = rest.arguments;
  return { ...rest, arguments: 'text' in given ? (JSON.parse(given.text) as unknown) : given.value };
}

const asValue = (part: ResponsePart): unknown =>
  part.type === 'ToolCall' ? { ...part, arguments: JSON.parse(part.arguments) as unknown } : part;

interface Said {
  readonly signature: string;
  readonly thought: string;
  readonly text: string;
  readonly id: string;
  readonly value: JsonRecord;
}

const saids: fc.Arbitrary<Said> = fc.record({
  signature: base64,
  thought: said,
  text: said,
  id: callId,
  value: callArguments,
});

function partsOf({ signature, thought, text, id, value }: Said, { readable, proof }: Maker): readonly ResponsePart[] {
  const call: Call = { type: 'ToolCall', id: `${id}_x`, name: 'f', arguments: JSON.stringify(value) };
  const reasoning = readable ? thought : '';
  return [{ type: 'Reasoning', text: reasoning, proof: proof(signature, call) }, { type: 'Text', text }, call];
}

/** What the client's next request says, in which it has kept the response. */
function nextOf(client: Client, parts: readonly ResponsePart[]): Conversation {
  const finish = { reason: 'ToolCalls', detail: undefined } as const;
  const candidates = [{ parts, citations: [], logProbabilities: [], finish }];
  const body = client.write({ model: 'm', candidates, error: undefined }, UNREPORTED_USAGE, CONTEXT);
  const request = NEXT[client.dialect](parseObject(body));
  return client.read(request, { providerTools: undefined, seal }).conversation;
}

for (const maker of MAKERS)
  describe(`reasoning of ${maker.name}`, () => {
    for (const { name, client } of SIDES)
      test(`comes back from a client of ${name}`, () => {
        fc.assert(
          fc.property(saids, (given) => {
            const parts = partsOf(given, maker);
            const conversation = nextOf(client, parts);
            const [, kept] = conversation.turns;
            assert.ok(kept?.role === 'Assistant');
            assert.deepEqual(kept.parts.map(withoutPath), parts.map(asValue));
            const own = JSON.stringify(maker.signs ? given.signature : given.thought);
            for (const { provider, model } of maker.providers) {
              const plan = {
                upstreamModel: model,
                maxOutputTokens: 9000,
                outputLimitField: 'max_tokens' as const,
                seal,
              };
              const { body } = provider.write(conversation, { plan, stream: false, dropped: new DroppedFields() });
              assert.ok(JSON.stringify(body).includes(own), 'the maker does not get it back');
            }
          }),
          RUNS,
        );
      });
  });
