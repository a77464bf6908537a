/** A request keeps what both sides of a conversion can say: within one protocol all of it, and from any to any other. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { argumentsObject } from '../../../../../dataplane/protocol/conversation/arguments.ts';
import type { Conversation, SettingName, Turn } from '../../../../../dataplane/protocol/conversation/request.ts';
import { searchResultText } from '../../../../../dataplane/protocol/conversation/texts.ts';
import { DroppedFields } from '../../../../../dataplane/protocol/dropped-fields.ts';
import { writeJson } from '../../../../../dataplane/protocol/json-value.ts';
import { converseChat } from '../../../../../dataplane/protocol/providers/converse/chat.ts';
import { PARTS } from '../../../../../dataplane/protocol/providers/converse/table.ts';
import { conversations } from './arbitrary-conversations.ts';
import type { Vocabulary } from './arbitrary-conversations.ts';
import { expected, plain, SIDES, through } from './round-trips.ts';
import type { Side } from './round-trips.ts';

/** Each is a conversation of several turns. */
const RUNS = { numRuns: 60 };

/** What none of the sides refuses. */
function vocabulary(...sides: readonly Side[]): Vocabulary {
  const settings = Object.keys(sides[0]?.settings ?? {}) as SettingName[];
  const kinds = [...(sides[0]?.parts.kinds.keys() ?? [])];
  return {
    addresses: true,
    settings: new Set(settings.filter((name) => sides.every((side) => side.settings[name].action !== 'Refused'))),
    parts: new Set(kinds.filter((kind) => sides.every((side) => side.parts.kinds.get(kind)?.action === 'Converted'))),
  };
}

/** The settings of which the side's table says that something is lost, so that they are named. */
function lost({ settings }: Conversation, side: Side): readonly string[] {
  return (Object.keys(settings) as SettingName[]).filter((name) => {
    const handling = side.settings[name];
    const value = JSON.stringify(settings[name]?.value);
    return handling.action === 'Omitted' && !handling.neutral.some((harmless) => JSON.stringify(harmless) === value);
  });
}

const CONVERSE = {
  upstreamModel: 'anthropic.claude-opus-4-6',
  maxOutputTokens: 9000,
  outputLimitField: 'max_tokens',
} as const;

/** What is said, in the forms that every provider sends unchanged. */
function wordsIn(turns: readonly Turn[]): readonly unknown[] {
  return turns.flatMap((turn) => turn.parts.flatMap(wordsOf));
}

function wordsOf(part: Turn['parts'][number]): readonly unknown[] {
  switch (part.type) {
    case 'Text':
      return [part.text];
    case 'Image':
    case 'Document':
      return part.source.type === 'Data' ? [part.source.data] : [];
    case 'SearchResult':
      return [searchResultText(part)];
    case 'ToolCall':
      return [part.name, argumentsObject(part.arguments)];
    case 'ToolResult':
      return part.parts.flatMap(wordsOf);
    default:
      return [];
  }
}

describe('a request', () => {
  for (const side of SIDES)
    test(`in ${side.name}, written and read`, () => {
      fc.assert(
        fc.property(conversations(vocabulary(side)), (given) => {
          const { conversation, dropped } = through(given, side);
          assert.deepEqual(plain(conversation), plain(expected(given, side)));
          assert.deepEqual(
            lost(given, side).filter((name) => !dropped.includes(name)),
            [],
          );
        }),
        RUNS,
      );
    });

  for (const from of SIDES)
    for (const to of SIDES.filter((side) => side !== from))
      test(`in ${from.name}, converted to ${to.name}`, () => {
        fc.assert(
          fc.property(conversations(vocabulary(from, to)), (given) => {
            const { conversation } = through(through(given, from).conversation, to);
            assert.deepEqual(plain(conversation), plain(expected(expected(given, from), to)));
          }),
          RUNS,
        );
      });

  for (const side of SIDES)
    test(`in ${side.name}, converted to Converse`, () => {
      const { parts } = vocabulary(side);
      const settings = new Set<SettingName>(['maxOutputTokens']);
      const taken = new Set([...parts].filter((kind) => PARTS.kinds.get(kind)?.action === 'Converted'));
      fc.assert(
        fc.property(conversations({ settings, parts: taken, addresses: false }), (given) => {
          const { conversation } = through(given, side);
          const dropped = new DroppedFields();
          const sent = writeJson(converseChat.write(conversation, { plan: CONVERSE, stream: false, dropped }).body);
          const missing = wordsIn(conversation.turns).filter((word) => !sent.includes(writeJson(word)));
          assert.deepEqual(missing, []);
        }),
        RUNS,
      );
    });
});
