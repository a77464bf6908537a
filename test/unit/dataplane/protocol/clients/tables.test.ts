/**
 * The tables of the clients' readers are correct: a field that is Converted changes the conversation, one that is
 * Dropped does not, and any other is listed by its path. Each field has an example.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { anthropicClient } from '../../../../../dataplane/protocol/clients/anthropic/client.ts';
import { geminiClient } from '../../../../../dataplane/protocol/clients/gemini/client.ts';
import { openaiChatClient } from '../../../../../dataplane/protocol/clients/openai-chat/client.ts';
import { responsesClient } from '../../../../../dataplane/protocol/clients/responses/client.ts';
import type { Client } from '../../../../../dataplane/protocol/clients/client.ts';
import type { Conversation, Unread } from '../../../../../dataplane/protocol/conversation/request.ts';
import type { Handling } from '../../../../../dataplane/protocol/field-table.ts';
import type { Examples, Fields } from '../field-examples.ts';
import { ANTHROPIC } from './anthropic-examples.ts';
import { GEMINI } from './gemini-examples.ts';
import { OPENAI_CHAT } from './openai-chat-examples.ts';
import { RESPONSES } from './responses-examples.ts';

const CLIENTS: readonly (readonly [Client, readonly Examples[]])[] = [
  [anthropicClient, ANTHROPIC],
  [geminiClient, GEMINI],
  [openaiChatClient, OPENAI_CHAT],
  [responsesClient, RESPONSES],
];

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

for (const [client, examples] of CLIENTS)
  describe(`a request in the dialect of ${client.dialect}`, () => {
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
