/** The words of docs/design/glossary.md in what people read: the help of commands, and the conditions of objects. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { CONDITIONS, REASONS } from '#crds/conditions.ts';
import { dataplaneCommand } from '../../../bin/commands/dataplane.ts';
import { doctorCommand } from '../../../bin/commands/doctor.ts';
import { operatorCommand } from '../../../bin/commands/operator.ts';
import { runCommand } from '../../../bin/commands/run.ts';
import { sidecarCommand } from '../../../bin/commands/sidecar.ts';
import { usageCommand } from '../../../bin/commands/usage.ts';
import { validateCommand } from '../../../bin/commands/validate.ts';

const COMMANDS = [
  dataplaneCommand,
  doctorCommand,
  operatorCommand,
  runCommand,
  sidecarCommand,
  usageCommand,
  validateCommand,
].map((create) => create(() => undefined));
/** "response", "minimum", "lowest" or "most expensive", and "again" are the words for these. */
const OTHER_WORDS = /\b(?:answers?|answered|least|dearest|anew|nowhere)\b/i;

describe('a text that people read has the words of the glossary', () => {
  for (const command of COMMANDS)
    it(`in mgw ${command.name()} --help`, () => {
      assert.ok(command.options.length > 0);
      for (const text of [command.summary(), command.description(), ...command.options.map((each) => each.description)])
        assert.doesNotMatch(text.replaceAll(/at least/gi, ''), OTHER_WORDS);
    });
  it('in the conditions of objects, where proxies and providers reject or fail', () => {
    for (const text of [...Object.values(REASONS), ...Object.values(CONDITIONS).map(({ meaning }) => meaning)])
      assert.doesNotMatch(text.replaceAll(/at least/gi, ''), /\brefuse|\b(?:answers?|least|anew)\b/i);
  });
});
