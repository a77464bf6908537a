/**
 * The tables of the clients' readers are correct: a field that is Converted changes the conversation, one that is
 * Dropped does not, and any other is listed by its path. Each field has an example.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { anthropicClient } from '../../../../../dataplane/protocol/clients/anthropic/client.ts';
import { geminiClient } from '../../../../../dataplane/protocol/clients/gemini/client.ts';
import * as messages from '../../../../../dataplane/protocol/clients/anthropic/table.ts';
import * as google from '../../../../../dataplane/protocol/clients/gemini/table.ts';
import * as chat from '../../../../../dataplane/protocol/clients/openai-chat/table.ts';
import * as images from '../../../../../dataplane/protocol/clients/openai-images/table.ts';
import * as responses from '../../../../../dataplane/protocol/clients/responses/table.ts';
import { openaiChatClient } from '../../../../../dataplane/protocol/clients/openai-chat/client.ts';
import { openaiImagesClient } from '../../../../../dataplane/protocol/clients/openai-images/client.ts';
import { responsesClient } from '../../../../../dataplane/protocol/clients/responses/client.ts';
import type { ChatDialect } from '../../../../../dataplane/protocol/call-facts.ts';
import { sealReasoning } from '../../../../../dataplane/protocol/conversation/sealed-reasoning.ts';
import { writeSignature } from '../../../../../dataplane/protocol/gemini/thought-signature.ts';
import { sealFor } from '../seal.ts';
import type { Client, Says } from '../../../../../dataplane/protocol/clients/client.ts';
import type { Conversation, Turn, Unread } from '../../../../../dataplane/protocol/conversation/request.ts';
import type { PartFeature } from '../../../../../dataplane/protocol/conversation/take.ts';
import type { Handling } from '../../../../../dataplane/protocol/field-table.ts';
import type { Examples, Fields } from '../field-examples.ts';
import { ANTHROPIC } from './anthropic-examples.ts';
import { GEMINI } from './gemini-examples.ts';
import { OPENAI_CHAT } from './openai-chat-examples.ts';
import { OPENAI_IMAGES } from './openai-images-examples.ts';
import { RESPONSES } from './responses-examples.ts';

const CLIENTS: readonly (readonly [Client, readonly Examples[], Says])[] = [
  [anthropicClient, ANTHROPIC, messages.SAYS],
  [geminiClient, GEMINI, google.SAYS],
  [openaiChatClient, OPENAI_CHAT, chat.SAYS],
  [openaiImagesClient('image_generation'), OPENAI_IMAGES, images.SAYS],
  [responsesClient, RESPONSES, responses.SAYS],
];

const seal = sealFor('one');
const sealed = writeSignature([sealReasoning(seal, { text: '', proof: { maker: 'Anthropic', signature: 's' } })]);
const inline = (mimeType: string): Fields => ({ inlineData: { mimeType, data: 'AA==' } });

/** What one field says in several ways. */
const FURTHER: Partial<Record<ChatDialect, readonly Fields[]>> = {
  Gemini: [
    { contents: [{ role: 'user', parts: [inline('audio/wav'), inline('video/mp4')] }] },
    { contents: [{ role: 'model', parts: [{ text: 'hi', thoughtSignature: sealed }] }] },
  ],
  Responses: [{ input: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }] }],
};

function read(client: Client, fields: Fields): Conversation {
  return client.read(fields, { providerTools: undefined, seal: undefined }).conversation;
}

/** The conversation without what was not read, and without the places of its values. */
function fingerprint({ unread: _unread, ...conversation }: Conversation): string {
  return JSON.stringify(conversation, (name, value: unknown) => (name === 'path' ? undefined : value));
}

/** What is listed of a field. */
function named({ unread }: Conversation, name: string): readonly Unread[] {
  return unread.filter(({ path }) => path === name || path.endsWith(`.${name}`));
}

for (const [client, examples, says] of CLIENTS)
  describe(`a request in the dialect of ${client.dialect}${client.countsImages === true ? ', for images' : ''}`, () => {
    test('what the dialect can say', () => {
      const requests = [...examples.flatMap(requestsIn), ...(FURTHER[client.dialect] ?? [])];
      const said = saidIn(
        requests.map((request) => client.read(request, { providerTools: undefined, seal }).conversation),
      );
      const sorted = ({ settings, parts, tools }: Says): readonly string[][] =>
        [settings, parts, tools].map((names) => [...names].sort());
      assert.deepEqual(sorted(said), sorted(says));
    });

    for (const { table, base, place, values, beside = {}, unseen = [] } of examples) {
      test(table.title, () => {
        const handlings: ReadonlyMap<string, Handling> = 'kinds' in table ? table.kinds : table.fields;
        assert.deepEqual(Object.keys(values).sort(), [...handlings.keys()].sort(), 'an example for each');
        if ('kinds' in table) {
          for (const [kind, { action }] of handlings)
            checkKind(kind, action, read(client, place(ofKind(table.title, kind, base, values))));
          return;
        }
        for (const [name, handling] of handlings) {
          const around = { ...base, ...beside[name] };
          const without = read(client, place(around));
          const make = (value: unknown): Conversation => read(client, place({ ...around, [name]: value }));
          checkField(name, handling, { without, given: make(values[name]), isUnseen: unseen.includes(name) });
          if ('neutral' in handling)
            for (const neutral of handling.neutral) assert.deepEqual(named(make(neutral), name), [], `${name} neutral`);
        }
        assert.equal(named(read(client, place({ ...base, novel: 1 })), 'novel')[0]?.handling, 'Refused', 'unknown');
        assert.deepEqual(named(read(client, place({ ...base, novel: null })), 'novel'), [], 'null is absent');
      });
    }
  });

/** Each example as a request. */
function requestsIn({ table, base, place, values, beside = {} }: Examples): readonly Fields[] {
  return Object.entries(values).map(([name, value]) =>
    place('kinds' in table ? ofKind(table.title, name, base, values) : { ...base, ...beside[name], [name]: value }),
  );
}

/** What the conversations hold of settings, of parts and of tools' members. */
function saidIn(conversations: readonly Conversation[]): Says {
  const settings = conversations.flatMap((conversation) => given(conversation.settings));
  const parts = conversations.flatMap(({ turns }) => turns.flatMap((turn) => turn.parts.flatMap(featuresOf)));
  const tools = conversations.flatMap((conversation) =>
    conversation.tools.flatMap(({ examples, takesText, path: _place, ...tool }) => [
      ...given(tool),
      ...(examples.length > 0 ? ['examples' as const] : []),
      ...(takesText ? ['takesText' as const] : []),
    ]),
  );
  return { settings: [...new Set(settings)], parts: [...new Set(parts)], tools: [...new Set(tools)] };
}

function given<Name extends string>(members: Readonly<Partial<Record<Name, unknown>>>): readonly Name[] {
  return (Object.keys(members) as Name[]).filter((name) => members[name] !== undefined);
}

function featuresOf(part: Turn['parts'][number]): readonly PartFeature[] {
  const inner = part.type === 'ToolResult' ? part.parts.flatMap(featuresOf) : [];
  return [part.type, ...(part.cache ? ['cache mark' as const] : []), ...inner];
}

interface Reading {
  readonly without: Conversation;
  readonly given: Conversation;
  /** It is read without a trace in the conversation. */
  readonly isUnseen: boolean;
}

function checkField(name: string, { action }: Handling, { without, given, isUnseen }: Reading): void {
  const [listed] = named(given, name);
  assert.equal(listed?.handling, action === 'Omitted' || action === 'Refused' ? action : undefined, name);
  if (action === 'Converted' && !isUnseen)
    assert.notEqual(fingerprint(given), fingerprint(without), `${name} changes nothing`);
  if (action === 'Dropped') assert.equal(fingerprint(given), fingerprint(without), `${name} is dropped`);
}

function checkKind(kind: string, action: Handling['action'], { unread }: Conversation): void {
  const handlings = unread.map(({ handling }) => handling);
  assert.deepEqual(handlings, action === 'Omitted' || action === 'Refused' ? [action] : [], kind);
}

/** Messages have roles, and everything else has types. */
function ofKind(title: string, kind: string, base: Fields, values: Fields): Fields {
  const { type: _type, role: _role, ...rest } = base;
  return { ...rest, [title.includes('by role') ? 'role' : 'type']: kind, ...(values[kind] as Fields) };
}
