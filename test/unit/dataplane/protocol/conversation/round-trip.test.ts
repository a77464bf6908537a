/** A request keeps what both sides of a conversion can say: within one protocol all of it, and from any to any other. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import type { Conversation, SettingName } from '../../../../../dataplane/protocol/conversation/request.ts';
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
});
