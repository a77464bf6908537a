/** Why a start failed, in the words for the terminal. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { InvalidManifests } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { CommandFailed } from '../../../bin/exit-codes.ts';
import { explainStart } from '../../../bin/run/start-errors.ts';

const mistake = (line: number): Diagnostic => ({ severity: 'Error', file: 'a.yaml', line, path: '', message: 'wrong' });

test('lists the mistakes in the manifests on a line each', () => {
  const failure = explainStart(new InvalidManifests([mistake(1), mistake(2)]), []);
  assert.ok(failure instanceof CommandFailed);
  assert.deepEqual(
    failure.message.split('\n').map((line) => line.slice(0, 9)),
    ['a.yaml:1:', 'a.yaml:2:', '2 errors '],
  );
});
