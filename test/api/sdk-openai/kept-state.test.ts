/**
 * The official OpenAI client, unchanged: conversations and prompts that a provider keeps, on two accounts of one model.
 */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { keyManifest, KEYS } from '../../support/manifests.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { openaiError } from '../../support/provider-answers.ts';
import { keepState } from '../../support/state-provider.ts';
import type { StateAccount } from '../../support/state-provider.ts';
import { Books, caught, collect, free, openaiClient, paid } from '../../support/api/sdk.ts';
import { get, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const KEY = 'sk-test-keeping-0000000000000000000000000000';
const POOR_KEY = 'sk-test-keeping-small-000000000000000000000000';
/** Of a call with ten tokens of input and two of output, at a dollar per million. */
const COST = 12_000n;
const TEAM = { apiKey: KEY } as const;

const MANIFESTS = (urls: readonly string[]): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: keeping, labels: {keeps: state}}
spec:
  models:
  - {name: kept-model, contextTokens: 100000, maxOutputTokens: 1000, allow: [PromptTemplates]}
  - {name: seeing-model, contextTokens: 100000, maxOutputTokens: 1000, inputs: [Text, Image]}
  channels:
${urls
  .map(
    (url, index) =>
      `  - {name: account-${index}, protocol: OpenAI, baseUrl: "${url}/v1", endpoints: [Chat, Responses]}`,
  )
  .join('\n')}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: single}
spec:
  models: [{name: single-model, contextTokens: 100000, maxOutputTokens: 1000, allow: [PromptTemplates]}]
  channels: [{name: only, protocol: OpenAI, baseUrl: "${urls[0]}/v1", endpoints: [Chat, Responses]}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: keeping}
spec:
  models:
  - {name: kept-model, vendor: V, quotaType: Token, modelRatio: "0.5"}
  - {name: seeing-model, vendor: V, quotaType: Token, modelRatio: "0.5"}
  - {name: single-model, vendor: V, quotaType: Token, modelRatio: "0.5"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: keeping}
spec:
  allowedNamespaces: {from: All}
  routes: [{routeSelector: {matchLabels: {keeps: state}}}]
---
${keyManifest('keeping', KEY, 'groupRef: {name: keeping}')}
${keyManifest('keeping-small', POOR_KEY, 'groupRef: {name: keeping}\nquota: {limitUsd: "0.01"}')}`;

let stack: TestStack;
let client: OpenAI;
let books: Books;
const providers: MockProvider[] = [];
let accounts: StateAccount[] = [];

beforeAll(async () => {
  for (const _ of ['one', 'two']) providers.push(await startMockProvider());
  stack = await startTestStack({
    files: (urls) => ({
      'chats.yaml': chatModelsManifest(urls),
      'keeping.yaml': MANIFESTS(providers.map(({ url }) => url)),
    }),
  });
  client = openaiClient(stack, TEAM);
  books = new Books(stack, { keeping: KEY, 'keeping-small': POOR_KEY });
});
afterAll(async () => {
  await stack.stop();
  for (const provider of providers) await provider.stop();
});
beforeEach(() => {
  accounts = providers.map((provider, index) => keepState(provider, `a${index}x`));
  return books.open();
});
afterEach(() => {
  for (const provider of providers) provider.clear();
  books.assertChecked();
});

const IMAGE: OpenAI.Responses.ResponseInputItem = {
  type: 'message',
  role: 'user',
  content: [{ type: 'input_image', detail: 'auto', image_url: 'https://example.com/a.png' }],
};
const user = (text: string): OpenAI.Responses.EasyInputMessage => ({ role: 'user', content: text });

/** The account that has a conversation; they have one in all. */
function homeOf(): { readonly index: number; readonly ownId: string } {
  const index = accounts.findIndex(({ conversations }) => conversations.size > 0);
  const [ownId] = [...(accounts[index]?.conversations.keys() ?? [])];
  assert.ok(ownId !== undefined);
  return { index, ownId };
}

/** A model that takes text only does not get what this continues. */
async function assertUnseen(
  continued: Pick<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'conversation' | 'previous_response_id'>,
): Promise<void> {
  const sent = providers.map(({ requests }) => requests.length);
  const refused = client.responses.create({ model: 'kept-model', input: 'x', ...continued });
  const { code } = await caught(refused, OpenAI.BadRequestError);
  assert.equal(code, 'unsupported_image');
  assert.deepEqual(
    providers.map(({ requests }) => requests.length),
    sent,
  );
}

describe('a response with an image', () => {
  it('is continued by models that take images only, and so is every response after it', async () => {
    const first = await client.responses.create({ model: 'seeing-model', input: [IMAGE] });
    const second = await client.responses.create({
      model: 'seeing-model',
      previous_response_id: first.id,
      input: 'two',
    });
    const stream = await client.responses.create({
      model: 'seeing-model',
      previous_response_id: second.id,
      input: 'three',
      stream: true,
    });
    const last = (await collect(stream)).at(-1);
    assert.ok(last?.type === 'response.completed');
    for (const { id } of [first, second, last.response]) await assertUnseen({ previous_response_id: id });
    const stored = await client.responses.retrieve(second.id);
    assert.notEqual(stored.previous_response_id, first.id);
    await assertUnseen({ previous_response_id: stored.previous_response_id ?? null });
    const refusals = Array.from({ length: 3 }, () => free(400));
    await books.check(paid(COST), paid(COST), paid(COST), ...refusals, free(), free(400));
  });

  it('marks what a large stored response names, which another thread seals', async () => {
    const first = await client.responses.create({ model: 'seeing-model', input: [IMAGE] });
    const { id } = await client.responses.create({
      model: 'seeing-model',
      previous_response_id: first.id,
      input: 'x'.repeat(70_000),
    });
    const stored = await client.responses.retrieve(id);
    await assertUnseen({ previous_response_id: stored.previous_response_id ?? null });
    await books.check(paid(COST), paid(COST), free(), free(400));
  });

  it('does not mark a chain of texts, which any model continues', async () => {
    let previous: string | undefined;
    for (const model of ['seeing-model', 'kept-model', 'seeing-model', 'kept-model']) {
      const { id }: OpenAI.Responses.Response = await client.responses.create({
        model,
        input: 'x',
        ...(previous !== undefined && { previous_response_id: previous }),
      });
      previous = id;
    }
    await books.check(paid(COST), paid(COST), paid(COST), paid(COST));
  });
});

describe('a conversation', () => {
  it('is made, used by calls and streams at the account that keeps it, and read back', async () => {
    const { id, metadata } = await client.conversations.create({ items: [user('one')], metadata: { topic: 'x' } });
    assert.match(id, /^mgw1_conversation_/);
    assert.deepEqual(metadata, { topic: 'x' });
    const said = await client.responses.create({ model: 'kept-model', conversation: id, input: 'two' });
    assert.deepEqual([said.output_text, said.conversation?.id], ['one two', id]);
    const stream = await client.responses.create({
      model: 'kept-model',
      conversation: { id },
      input: 'three',
      stream: true,
    });
    const last = (await collect(stream)).at(-1);
    assert.ok(last?.type === 'response.completed');
    assert.deepEqual(
      [last.response.output_text ?? textOf(last.response), last.response.conversation?.id],
      ['one two three', id],
    );
    await client.conversations.items.create(id, { items: [user('four')] });
    const items = await Array.fromAsync(client.conversations.items.list(id, { limit: 10 }));
    assert.deepEqual(
      items.map((item) => item.type === 'message' && item.role),
      ['user', 'user', 'assistant', 'user', 'assistant', 'user'],
    );
    const { index, ownId } = homeOf();
    assert.equal(providers[1 - index]!.requests.length, 0, 'the other account is not asked');
    const paths = providers[index]!.requests.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(paths, [
      'POST /v1/conversations',
      'POST /v1/responses',
      'POST /v1/responses',
      `POST /v1/conversations/${ownId}/items`,
      `GET /v1/conversations/${ownId}/items?limit=10`,
    ]);
    await books.check(free(), paid(COST), paid(COST), free(), free());
  });

  it('for text takes no image, wherever it is, and is continued by every model', async () => {
    const { id } = await client.conversations.create({ items: [user('one')] });
    for (const attempt of [
      () => client.conversations.items.create(id, { items: [IMAGE] }),
      () => client.responses.create({ model: 'seeing-model', conversation: id, input: [IMAGE] }),
      () => client.responses.create({ model: 'kept-model', conversation: id, input: [IMAGE] }),
      () => client.conversations.create({ items: [IMAGE], ...Object({ model: 'kept-model' }) }),
    ]) {
      const refused = await caught(attempt(), OpenAI.BadRequestError);
      assert.equal(refused.code, 'unsupported_image');
    }
    for (const model of ['seeing-model', 'kept-model'])
      await client.responses.create({ model, conversation: id, input: 'two' });
    await books.check(free(), free(400), free(400), free(400), free(400), paid(COST), paid(COST));
  });

  it('for images is one that is made with an image, or for a model that takes them, and goes to no other', async () => {
    const withImage = await client.conversations.create({ items: [IMAGE] });
    const named = await client.conversations.create(Object({ model: 'seeing-model' }));
    const read = await client.conversations.retrieve(named.id);
    assert.equal(read.id, named.id);
    for (const conversation of [withImage.id, named.id]) {
      await client.conversations.items.create(conversation, { items: [IMAGE] });
      const { id }: OpenAI.Responses.Response = await client.responses.create({
        model: 'seeing-model',
        conversation,
        input: [IMAGE],
      });
      await assertUnseen({ conversation });
      // the provider names the conversation in the stored response, and the gateway seals it anew there
      const stored: OpenAI.Responses.Response = await client.responses.retrieve(id);
      assert.notEqual(stored.conversation?.id, conversation);
      await assertUnseen({ conversation: stored.conversation?.id ?? '' });
      await assertUnseen({ previous_response_id: id });
    }
    const each = [free(), paid(COST), free(400), free(), free(400), free(400)];
    await books.check(free(), free(), free(), ...each, ...each);
  });

  it('is changed and deleted, and so are its items', async () => {
    const { id } = await client.conversations.create({ items: [user('one'), user('two')] });
    assert.deepEqual((await client.conversations.update(id, { metadata: { a: 'b' } })).metadata, { a: 'b' });
    const [first] = await Array.fromAsync(client.conversations.items.list(id));
    assert.ok(first?.type === 'message');
    const item = await client.conversations.items.retrieve(first.id, { conversation_id: id });
    assert.deepEqual(item, first);
    assert.equal((await client.conversations.items.delete(first.id, { conversation_id: id })).id, id);
    const sent = providers.map(({ requests }) => requests.length);
    for (const other of ['..%2F..%2Ffiles%2Ffile-1', '%2E%2E', 'a%2Fb', '..%5Cfiles']) {
      const answer = await get(stack, `/v1/conversations/${id}/items/${other}`, { authorization: `Bearer ${KEY}` });
      assert.equal(answer.status, 404, other);
    }
    assert.deepEqual(
      providers.map(({ requests }) => requests.length),
      sent,
    );
    assert.equal((await client.conversations.retrieve(id)).id, id);
    const said = await client.responses.create({ model: 'kept-model', conversation: id, input: 'three' });
    assert.equal(said.output_text, 'two three');
    assert.deepEqual(await client.conversations.delete(id), { id, object: 'conversation.deleted', deleted: true });
    const { message } = await caught(client.conversations.retrieve(id), OpenAI.NotFoundError);
    assert.match(message, /no such conversation any more/);
    await books.check(
      ...Array.from({ length: 5 }, () => free()),
      ...Array.from({ length: 4 }, () => free(404)),
      free(),
      paid(COST),
      free(),
      free(404),
    );
  });

  it('goes on after a response of it, and goes nowhere else while its account fails', async () => {
    const { id } = await client.conversations.create();
    await client.responses.create({ model: 'kept-model', conversation: id, input: 'one' });
    const { index } = homeOf();
    providers[index]!.script(openaiError(503));
    const once = openaiClient(stack, { ...TEAM, maxRetries: 0 });
    await caught(
      once.responses.create({ model: 'kept-model', conversation: id, input: 'two' }),
      OpenAI.InternalServerError,
    );
    assert.equal(providers[1 - index]!.requests.length, 0);
    await books.check(free(), paid(COST), free(502));
  });

  it("is no other account's, no other model's, nor one that a client made up", async () => {
    const { id } = await client.conversations.create();
    const stranger = openaiClient(stack, { apiKey: KEYS.poor });
    await caught(stranger.conversations.retrieve(id), OpenAI.NotFoundError);
    await caught(client.conversations.retrieve('conv_1'), OpenAI.NotFoundError);
    await caught(client.conversations.retrieve(id.replace('conversation', 'response')), OpenAI.NotFoundError);
    const everything = openaiClient(stack);
    for (const [model, conversation, words] of [
      ['gpt-model', id, /Send the whole conversation/],
      ['chat-model', id, /Send the whole conversation/],
      ['kept-model', 'conv_1', /Make one with POST \/v1\/conversations here/],
    ] as const) {
      const refused = everything.responses.create({ model, conversation, input: 'x' });
      assert.match((await caught(refused, OpenAI.BadRequestError)).message, words);
    }
    assert.equal(providers.flatMap(({ requests }) => requests).length, 1);
    await books.check(free(), free(404), free(404), free(404), free(400), free(400), free(400));
  });

  it('takes large items, and seals the reasoning in them', async () => {
    const text = 'x'.repeat(300_000);
    const reasoning = { type: 'reasoning' as const, id: 'rs_1', summary: [], encrypted_content: 'gAAAA-own' };
    const { id } = await client.conversations.create({ items: [user(text), reasoning] });
    const [first, second] = await Array.fromAsync(client.conversations.items.list(id));
    assert.ok(first?.type === 'message' && second?.type === 'reasoning');
    assert.equal(first.content, text);
    assert.match(second.encrypted_content ?? '', /^mgw1_encrypted_/);
    await client.conversations.items.create(id, { items: [second] });
    const { index } = homeOf();
    const {
      items: [sent],
    } = (await providers[index]!.request(2)).json() as { items: readonly object[] };
    assert.deepEqual(sent, reasoning, 'the account gets its own value back');
    await books.check(free(), free(), free());
  });

  it('is kept by the account that made the reasoning in its first items', async () => {
    const reasoning = { type: 'reasoning' as const, id: 'rs_1', summary: [], encrypted_content: 'gAAAA-own' };
    const source = await client.conversations.create({ items: [user('one'), reasoning] });
    const { index: maker } = homeOf();
    const [, sealed] = await Array.fromAsync(client.conversations.items.list(source.id));
    assert.ok(sealed?.type === 'reasoning');
    // each of eight would be kept elsewhere every other time
    for (let n = 0; n < 8; n++) await client.conversations.create({ items: [sealed] });
    assert.equal(accounts[maker]!.conversations.size, 9);
    await books.check(free(), free(), ...Array.from({ length: 8 }, () => free()));
  });

  it('is held as a whole context, since nobody here knows how long it is', async () => {
    const small = openaiClient(stack, { apiKey: POOR_KEY, maxRetries: 0 });
    const { id } = await small.conversations.create();
    await small.responses.create({ model: 'kept-model', input: 'hello' });
    const { code } = await caught(
      small.responses.create({ model: 'kept-model', conversation: id, input: 'x' }),
      OpenAI.RateLimitError,
    );
    assert.equal(code, 'insufficient_quota', 'a context of 100,000 tokens is more than it has');
    await books.check(free(), paid(COST), free(429));
  });

  it('takes no items by reference, and is kept where the client says if there are several providers', async () => {
    for (const [items, param] of [
      [[{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }], 'items[0].content[0].file_id'],
      [[{ type: 'item_reference', id: 'msg_1' }], 'items[0]'],
      ['text', 'items'],
    ] as const) {
      const refused = client.conversations.create({ items: items as never });
      assert.equal((await caught(refused, OpenAI.BadRequestError)).param, param);
    }
    const everything = openaiClient(stack);
    const ambiguous = await caught(everything.conversations.create(), OpenAI.BadRequestError);
    assert.match(ambiguous.message, /Name one of the models in "model"/);
    await caught(everything.conversations.create({ model: 'chat-model' } as never), OpenAI.NotFoundError);
    const { id } = await everything.conversations.create({ model: 'single-model', items: [user('one')] } as never);
    assert.deepEqual((await providers[0]!.request(0)).json(), { items: [user('one')] });
    const said = await everything.responses.create({ model: 'single-model', conversation: id, input: 'two' });
    assert.equal(said.output_text, 'one two');
    assert.equal((await get(stack, '/v1/conversations')).status, 404, 'it would list those of all keys');
    await books.check(free(400), free(400), free(400), free(400), free(404), free(), paid(COST), free(404));
  });
});

describe('a prompt that the provider stores', () => {
  const prompt = { id: 'pmpt_1', variables: { name: 'Ada' } };

  it('is used where the route allows it and the model has one channel', async () => {
    accounts[0]!.prompts.set('pmpt_1', 'be kind');
    const everything = openaiClient(stack);
    const said = await everything.responses.create({ model: 'single-model', prompt, input: 'one' });
    assert.equal(said.output_text, 'be kind one');
    assert.deepEqual((await providers[0]!.request(0)).json()['prompt'], prompt);
    await books.check(paid(COST));
  });

  it('is refused otherwise, with what to do', async () => {
    const everything = openaiClient(stack);
    for (const [model, code, words] of [
      ['kept-model', 'unsupported_parameter', /one provider account.*a model with one channel/],
      ['gpt-model', 'not_allowed', /Send the prompt itself .* allow PromptTemplates for this model/],
      ['chat-model', 'unsupported_parameter', /Send the prompt itself in "instructions" and "input"/],
      ['claude-model', 'unsupported_parameter', /Send the prompt itself in "instructions" and "input"/],
    ] as const) {
      const error = await caught(everything.responses.create({ model, prompt, input: 'x' }), OpenAI.BadRequestError);
      assert.deepEqual([error.code, error.param], [code, 'prompt']);
      assert.match(error.message, words);
    }
    await books.check(free(400), free(400), free(400), free(400));
  });
});

function textOf({ output }: OpenAI.Responses.Response): string {
  const [item] = output;
  assert.ok(item?.type === 'message' && item.content[0]?.type === 'output_text');
  return item.content[0].text;
}
