/** A session whose hold is lost ends, whenever that is noticed. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { GatewayError } from '../../../../../dataplane/errors.ts';
import { endWithHold } from '../../../../../dataplane/pipeline/realtime/serve-session.ts';

type Record = Parameters<typeof endWithHold>[1];

/** The errors that stop a session that loses its hold or its client, before or after the upgrade. */
function stopped(lost: 'Hold' | 'Client', isBefore: boolean): readonly string[] {
  const errors: string[] = [];
  const abort = new AbortController();
  const record = { abort, holdLost: false, received: { requestId: 'req_1' } } as unknown as Record;
  const lose = (): void => {
    record.holdLost = lost === 'Hold';
    abort.abort();
  };
  const session = { stop: ({ code }: GatewayError) => errors.push(code) };
  if (isBefore) lose();
  endWithHold({ defect: assert.fail }, record, session);
  assert.deepEqual(errors, isBefore && lost === 'Hold' ? ['billed_later'] : []);
  if (!isBefore) lose();
  return errors;
}

describe('a session', () => {
  it.each([true, false])('ends when its hold is lost (during the upgrade: %s)', (isBefore) => {
    assert.deepEqual(stopped('Hold', isBefore), ['billed_later']);
  });

  it.each([true, false])('sees for itself that its client has left (during the upgrade: %s)', (isBefore) => {
    assert.deepEqual(stopped('Client', isBefore), []);
  });
});
