/** The words of docs/design/glossary.md in what people read: the help of commands, and the conditions of objects. */
import assert from 'node:assert/strict';
import type { Command } from 'commander';
import { describe, it } from 'vitest';
import { CONDITIONS, REASONS } from '#crds/conditions.ts';
import { createCommands } from '../../../bin/main.ts';

const withInner = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(withInner)];
const COMMANDS = createCommands(() => undefined).flatMap(withInner);
/** "response", "minimum", "lowest" or "most expensive", and "again" are the words for these. */
const OTHER_WORDS = /\b(?:answers?|answered|least|dearest|anew|nowhere)\b/i;

describe('a text that people read has the words of the glossary', () => {
  for (const command of COMMANDS)
    it(`in mgw ${command.name()} --help`, () => {
      assert.ok(command.options.length > 0 || command.commands.length > 0);
      for (const text of [command.summary(), command.description(), ...command.options.map((each) => each.description)])
        assert.doesNotMatch(text.replaceAll(/at least/gi, ''), OTHER_WORDS);
    });
  it('in the conditions of objects, where proxies and providers reject or fail', () => {
    for (const text of [...Object.values(REASONS), ...Object.values(CONDITIONS).map(({ meaning }) => meaning)])
      assert.doesNotMatch(text.replaceAll(/at least/gi, ''), /\brefuse|\b(?:answers?|least|anew)\b/i);
  });
});
