/** The contract's scenarios about the conversations that providers keep for accounts. */
import assert from 'node:assert/strict';
import type { ConversationLimits, Ledger } from '../../../../dataplane/ledger/ledger.ts';
import type { AddScenario } from './contract-scenario.ts';

const ACCOUNT = 'team-a/team-a';
const LIMITS: ConversationLimits = { count: 2, bytes: 100 };
const LONG_AGO_MS = 1;

interface Given {
  readonly account?: string;
  readonly untilMs?: number;
  readonly limits?: ConversationLimits;
}

function keep(ledger: Ledger, id: string, bytes: number, given: Given = {}): Promise<boolean> {
  const { account = ACCOUNT, untilMs, limits = LIMITS } = given;
  return ledger.keepConversation({ account, id, bytes, untilMs }, limits);
}

export function conversationScenarios(scenario: AddScenario): void {
  scenario('an account has as many conversations as it may, each counted once', async ({ ledger }) => {
    assert.equal(await keep(ledger, 'a', 1), true);
    assert.equal(await keep(ledger, 'a', 1), true);
    assert.equal(await keep(ledger, 'b', 1), true);
    assert.equal(await keep(ledger, 'c', 1), false);
    assert.equal(await keep(ledger, 'c', 1, { account: 'team-b/team-b' }), true);
    await ledger.forgetConversation({ account: ACCOUNT, id: 'a' });
    await ledger.forgetConversation({ account: ACCOUNT, id: 'a' });
    assert.equal(await keep(ledger, 'c', 1), true);
    assert.equal(await keep(ledger, 'd', 1), false);
  });

  scenario('its bytes add up over conversations and extensions, and are free again', async ({ ledger }) => {
    assert.equal(await keep(ledger, 'a', 60), true);
    assert.equal(await keep(ledger, 'a', 30), true);
    assert.equal(await keep(ledger, 'b', 11), false);
    assert.equal(await keep(ledger, 'b', 10), true);
    assert.equal(await keep(ledger, 'a', 1), false);
    await ledger.forgetConversation({ account: ACCOUNT, id: 'a' });
    assert.equal(await keep(ledger, 'b', 90), true);
    assert.equal(await keep(ledger, 'b', 1), false);
  });

  scenario('of many at once no more are kept than may be', async ({ ledger }) => {
    const kept = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => keep(ledger, id, 1)));
    assert.equal(kept.filter(Boolean).length, LIMITS.count);
  });

  scenario('one that is kept until a time is forgotten then, unless it is kept again', async ({ ledger }) => {
    await keep(ledger, 'a', 50, { untilMs: LONG_AGO_MS });
    await keep(ledger, 'b', 50, { untilMs: Number.MAX_SAFE_INTEGER });
    assert.equal(await keep(ledger, 'c', 50), true);
    assert.equal(await keep(ledger, 'd', 0), false);
    await ledger.forgetConversation({ account: ACCOUNT, id: 'b' });
    await keep(ledger, 'd', 0, { untilMs: LONG_AGO_MS });
    await keep(ledger, 'd', 1);
    assert.equal(await keep(ledger, 'e', 0), false);
  });

  scenario('all are known to the next process', async (subject) => {
    await keep(subject.ledger, 'a', 60);
    const { ledger } = await subject.reopen();
    assert.equal(await keep(ledger, 'b', 41), false);
    assert.equal(await keep(ledger, 'b', 40), true);
    assert.equal(await keep(ledger, 'c', 0), false);
  });
}
