/** What requests make of a conversation that the gateway keeps. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { ownConversationId } from '../../../../dataplane/protocol/openai/continued-input.ts';
import { itemsOfConversation, workOnConversation } from '../../../../dataplane/protocol/openai/kept-conversation.ts';
import type { ConversationWork, WorkedConversation } from '../../../../dataplane/protocol/openai/kept-conversation.ts';

const ID = `conv_${'0f'.repeat(16)}`;
const json = (bytes: Uint8Array | undefined): unknown => JSON.parse(Buffer.from(bytes ?? []).toString() || 'null');
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const user = (content: string): object => ({ role: 'user', content });

function created(request: object = {}): WorkedConversation {
  return workOnConversation(bytesOf(request), { work: 'Create', id: ID, suffix: 'a', createdSeconds: 7 });
}

function run(conversation: Uint8Array | undefined, work: ConversationWork): WorkedConversation {
  return workOnConversation(conversation ?? Buffer.alloc(0), work);
}

function idsOf({ body }: WorkedConversation): unknown {
  const list = json(body);
  return Object(list).data.map(({ id }: { id: string }) => id);
}

describe('an own id', () => {
  it("is the gateway's form, as itself or in an object", () => {
    assert.deepEqual([ownConversationId(ID), ownConversationId({ id: ID })], [ID, ID]);
    for (const other of [undefined, null, 7, 'conv_1', `${ID}0`, { id: 7 }, `mgw1_conversation_${ID}`])
      assert.equal(ownConversationId(other), undefined);
  });
});

describe('a conversation that the gateway keeps', () => {
  it('is described, and has its items as they were given', () => {
    const { conversation, body } = created({ metadata: { a: 'b' }, items: [user('x\ny'), { n: 1.0 }] });
    assert.deepEqual(json(body), { id: ID, object: 'conversation', created_at: 7, metadata: { a: 'b' } });
    assert.deepEqual(json(run(conversation, { work: 'Describe', id: ID }).body), json(body));
    assert.deepEqual(json(itemsOfConversation(conversation ?? Buffer.alloc(0))), [user('x\ny'), { n: 1 }]);
    assert.deepEqual(json(itemsOfConversation(created().conversation ?? Buffer.alloc(0))), []);
  });
  it('gives each item an id of its own, which another one cannot take', () => {
    const items = [user('x'), { type: 'message', id: 'msg_1', role: 'user', content: 'y' }, { type: 'reasoning' }];
    const { conversation } = created({ items });
    const request = bytesOf({
      items: [
        { id: 'msg_1', ...user('z') },
        { id: '../x', ...user('w') },
      ],
    });
    const added = run(conversation, { work: 'Add', suffix: 'b', request });
    assert.deepEqual(idsOf(added), ['msg_b_0', 'msg_b_1']);
    const listed = run(added.conversation, { work: 'List', query: 'order=asc' });
    assert.deepEqual(idsOf(listed), ['msg_a_0', 'msg_1', 'item_a_2', 'msg_b_0', 'msg_b_1']);
    assert.deepEqual(json(itemsOfConversation(added.conversation ?? Buffer.alloc(0))), [
      ...items,
      user('z'),
      user('w'),
    ]);
  });
  it('lists, shows and removes items', () => {
    const { conversation } = created({ items: ['x', 'y', 'z'].map(user) });
    assert.deepEqual(idsOf(run(conversation, { work: 'List', query: 'limit=2' })), ['msg_a_2', 'msg_a_1']);
    assert.deepEqual(idsOf(run(conversation, { work: 'List', query: 'after=msg_a_1' })), ['msg_a_0']);
    assert.deepEqual(json(run(conversation, { work: 'Item', item: 'msg_a_1' }).body), {
      id: 'msg_a_1',
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_text', text: 'y' }],
    });
    const left = run(conversation, { work: 'Remove', id: ID, item: 'msg_a_1' });
    assert.deepEqual(json(left.body), { id: ID, object: 'conversation', created_at: 7, metadata: {} });
    assert.deepEqual(idsOf(run(left.conversation, { work: 'List', query: '' })), ['msg_a_2', 'msg_a_0']);
    assert.deepEqual(run(left.conversation, { work: 'Item', item: 'msg_a_1' }), {});
    assert.deepEqual(run(left.conversation, { work: 'Remove', id: ID, item: 'none' }), {});
  });
  it('gets the items of a call in one step', () => {
    const lists = [[user('x')], [{ type: 'message', id: 'msg_o', role: 'assistant', content: [] }], []].map(bytesOf);
    const { conversation, body } = run(created().conversation, { work: 'AddTurn', suffix: 'c', lists });
    assert.equal(body, undefined);
    assert.deepEqual(idsOf(run(conversation, { work: 'List', query: 'order=asc' })), ['msg_c_0', 'msg_o']);
  });
  it('takes new metadata, as few and as short as at OpenAI', () => {
    const { conversation } = created({ metadata: { a: 'b' } });
    const update = (metadata: unknown): WorkedConversation =>
      run(conversation, { work: 'Update', id: ID, request: bytesOf({ metadata }) });
    const { body } = update({ c: 'd' });
    assert.deepEqual(json(body), { id: ID, object: 'conversation', created_at: 7, metadata: { c: 'd' } });
    assert.deepEqual(Object(json(update(undefined).body)).metadata, { a: 'b' }, 'without any it stays');
    assert.deepEqual(Object(json(update(null).body)).metadata, {});
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`n${index}`, '']));
    for (const metadata of ['x', [1], { a: 1 }, { a: 'x'.repeat(513) }, { ['x'.repeat(65)]: '' }, many])
      assert.throws(() => update(metadata), { name: 'RequestFault', param: 'metadata' });
  });
  it('takes only lists of items', () => {
    const { conversation } = created();
    for (const items of [undefined, [], 'x'])
      assert.throws(() => run(conversation, { work: 'Add', suffix: 'b', request: bytesOf({ items }) }), {
        param: 'items',
      });
  });
});
