/**
 * The tables of the providers' writers are correct: a setting that is Converted changes the request, one that is Dropped
 * does not, one that is Omitted is named by the client's path, and one that is Refused fails the call.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { RequestFault } from '../../../../../dataplane/protocol/call-facts.ts';
import type {
  Conversation,
  SettingName,
  Settings,
  Tool,
  Turn,
} from '../../../../../dataplane/protocol/conversation/request.ts';
import type { SettingsTable } from '../../../../../dataplane/protocol/conversation/take.ts';
import { DroppedFields } from '../../../../../dataplane/protocol/dropped-fields.ts';
import type { ChatProvider } from '../../../../../dataplane/protocol/providers/chat-provider.ts';
import { anthropicChat } from '../../../../../dataplane/protocol/providers/anthropic/chat.ts';
import { SETTINGS as MESSAGES } from '../../../../../dataplane/protocol/providers/anthropic/table.ts';
import { converseChat } from '../../../../../dataplane/protocol/providers/converse/chat.ts';
import { SETTINGS as CONVERSE } from '../../../../../dataplane/protocol/providers/converse/table.ts';
import { geminiChat } from '../../../../../dataplane/protocol/providers/gemini/chat.ts';
import { SETTINGS as GEMINI } from '../../../../../dataplane/protocol/providers/gemini/table.ts';
import { responsesChat } from '../../../../../dataplane/protocol/providers/responses/chat.ts';
import { SETTINGS as RESPONSES } from '../../../../../dataplane/protocol/providers/responses/table.ts';
import { openaiChat } from '../../../../../dataplane/protocol/providers/openai-chat/chat.ts';
import { SETTINGS as CHAT } from '../../../../../dataplane/protocol/providers/openai-chat/table.ts';

interface Case {
  readonly provider: ChatProvider;
  readonly table: SettingsTable;
  /** Takes everything that the protocol has, except where another model is named. */
  readonly model: string;
  readonly models?: Partial<Record<SettingName, string>>;
  /** Where the value of all providers is not one that this one takes. */
  readonly values?: Settings;
}

const PROVIDERS: readonly Case[] = [
  { provider: geminiChat, table: GEMINI, model: 'gemini-3-flash-preview' },
  { provider: converseChat, table: CONVERSE, model: 'anthropic.claude-opus-4-6' },
  {
    provider: anthropicChat,
    table: MESSAGES,
    model: 'claude-opus-4-6',
    values: { serviceTier: { value: 'standard', path: 'the.path.of.serviceTier' } },
  },
  { provider: openaiChat, table: CHAT, model: 'a-model', models: { verbosity: 'gpt-5.4', promptCacheKey: 'gpt-5.4' } },
  {
    provider: responsesChat,
    table: RESPONSES,
    model: 'a-model',
    models: { verbosity: 'gpt-5.4', promptCacheKey: 'gpt-5.4' },
  },
];

const TOOL: Tool = {
  name: 'f',
  description: 'd',
  schema: { type: 'object', properties: {} },
  strict: undefined,
  examples: [],
  cache: undefined,
  takesText: false,
  path: 'tools[0]',
};

const SETTINGS: Required<{ readonly [Name in SettingName]: NonNullable<Settings[Name]>['value'] }> = {
  maxOutputTokens: 7,
  temperature: 0.5,
  topP: 0.5,
  topK: 5,
  seed: 3,
  frequencyPenalty: 0.5,
  presencePenalty: 0.5,
  stop: ['END'],
  candidates: 2,
  modalities: ['text', 'image'],
  imageConfig: { shape: '16:9', resolution: '1K' },
  logProbabilities: 3,
  effort: 'low',
  reasoning: { mode: 'Enabled', budgetTokens: 2000, display: undefined },
  verbosity: 'low',
  responseFormat: {
    type: 'Schema',
    schema: { type: 'object', properties: { a: { type: 'string' } } },
    name: undefined,
    description: undefined,
    strict: undefined,
  },
  toolChoice: { mode: 'Required', names: undefined },
  parallelToolCalls: false,
  user: 'u',
  promptCacheKey: 'k',
  cache: { ttl: undefined },
  serviceTier: 'priority',
};

const TURNS: readonly Turn[] = [
  { role: 'User', parts: [{ type: 'Text', text: 'hi', path: 'messages[0].content' }], path: 'messages[0]' },
];

interface Sent {
  readonly text: string;
  readonly dropped: readonly string[] | undefined;
}

function send(provider: ChatProvider, model: string, settings: Settings): Sent {
  const conversation: Conversation = { turns: TURNS, tools: [TOOL], settings, unread: [] };
  const dropped = new DroppedFields();
  const plan = { upstreamModel: model, maxOutputTokens: undefined, outputLimitField: 'max_tokens' as const };
  const { path, body } = provider.write(conversation, { plan, stream: false, dropped });
  return { text: path + JSON.stringify(body), dropped: dropped.params };
}

for (const { provider, table, model: usual, models = {}, values = {} } of PROVIDERS)
  describe(`a request to ${provider.name} ${provider.api ?? ''}`, () => {
    const base: Settings = { maxOutputTokens: { value: 9000, path: 'max' } };
    for (const name of Object.keys(table) as SettingName[])
      test(`${name} is ${table[name].action}`, () => {
        const model = models[name] ?? usual;
        const without = send(provider, model, base);
        const path = `the.path.of.${name}`;
        const setting = values[name] ?? { value: SETTINGS[name], path };
        const make = (): Sent => send(provider, model, { ...base, [name]: setting });
        switch (table[name].action) {
          case 'Converted': {
            const { text, dropped } = make();
            assert.notEqual(text, without.text);
            assert.equal(dropped, undefined);
            break;
          }
          case 'Dropped':
            assert.deepEqual(make(), without);
            break;
          case 'Omitted':
            assert.deepEqual(make(), { text: without.text, dropped: [path] });
            break;
          case 'Refused':
            assert.throws(make, (error) => error instanceof RequestFault && error.param === path);
        }
      });
  });
