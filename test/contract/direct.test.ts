/** Calls that go past the framework, and the same calls that do not: nobody can tell them apart. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { KEYS } from '../support/manifests.ts';
import { anthropicMessage, openaiChat } from '../support/provider-answers.ts';
import { chat, message, startWorld, tidyUp } from '../http/support.ts';
import type { World } from '../http/support.ts';

const MAX_BODY = 3000;
/** The framework is given what is not exactly this. */
const [DIRECT, BY_FRAMEWORK] = ['application/json', 'application/json;  charset=utf-8'];

let world: World;
before(async () => { world = await startWorld({ maxBodyBytes: MAX_BODY }); });
after(() => world.stop());
afterEach(() => tidyUp(world));

interface Told {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

async function ask(path: string, body: string, headers: Record<string, string>): Promise<Told> {
  const answer = await fetch(world.gateway.url + path, { method: 'POST', body, headers });
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() };
}

/** What differs from call to call by nature. */
function alike({ status, headers, text }: Told): unknown {
  const { date: _date, 'x-modelgateway-remaining-usd': remaining, ...others } = headers;
  const blank = (value: string): string => value.replaceAll(/req_[0-9a-f]{32}/g, 'req_');
  return { status, headers: Object.entries({ ...others, remaining: remaining === undefined ? 'no' : 'yes' }).map(([name, value]) => `${name}: ${blank(value)}`), text: blank(text) };
}

async function assertAlike(path: string, body: string, headers: Record<string, string>): Promise<Told> {
  const [first, second] = [await ask(path, body, { ...headers, 'content-type': DIRECT }), await ask(path, body, { ...headers, 'content-type': BY_FRAMEWORK })];
  assert.deepEqual(alike(first), alike(second));
  return first;
}

describe('either way', () => {
  const key = { authorization: `Bearer ${KEYS.main}` };

  it('calls are served', async () => {
    world.openai.script(openaiChat());
    world.anthropic.script(anthropicMessage());
    for (const [path, body] of [['/v1/chat/completions', chat()], ['/v1/messages', message()], ['/v1/chat/completions', chat('claude-model')]] as const)
      assert.equal((await assertAlike(path, JSON.stringify(body), key)).status, 200, path);
  });

  it('refusals are told in the dialect of the path', async () => {
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses']) {
      assert.equal((await assertAlike(path, JSON.stringify(chat()), {})).status, 401);
      assert.equal((await assertAlike(path, '{"model":', key)).status, 400);
      assert.equal((await assertAlike(path, JSON.stringify(chat('nobody-has-it')), key)).status, 404);
      assert.equal((await assertAlike(path, JSON.stringify(chat('gpt-model', { user: 'x'.repeat(MAX_BODY) })), key)).status, 413);
      assert.equal((await assertAlike(path, '', key)).status, 400);
    }
  });
});
