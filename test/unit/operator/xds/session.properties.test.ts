/**
 * Properties of a session for any publications, slow reads, rejections and reconnections: the client ends with the
 * published state, no response has a name twice, no round is closed early or followed before it is acknowledged, and
 * the records agree.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { Resource } from '#snapshot/discovery.gen.ts';
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '#snapshot/discovery.gen.ts';
import { ResourceCache } from '../../../../operator/xds/resource-cache.ts';
import { DiscoverySession } from '../../../../operator/xds/session.ts';

const [A, B, LAST] = ['test/A', 'test/B', 'test/Last'];
const TYPES = [A, B, LAST];
const ORDER = { parentsFirst: [A, B], revoking: [B], last: LAST };

type Step =
  | {
      readonly do: 'publish';
      readonly typeUrl: string;
      readonly name: string;
      readonly value: string | undefined;
      readonly urgent: boolean;
    }
  | { readonly do: 'read'; readonly count: number }
  | { readonly do: 'answer'; readonly count: number; readonly refuse: boolean }
  | { readonly do: 'reconnect' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      typeUrl: fc.constantFrom(A, B),
      name: fc.constantFrom('x', 'y', 'z'),
      value: fc.option(fc.constantFrom('1', '2', '3'), { nil: undefined }),
      urgent: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('read' as const), count: fc.integer({ min: 1, max: 4 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      count: fc.integer({ min: 1, max: 4 }),
      refuse: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'reconnect' as const }) },
);

class Model {
  readonly cache = new ResourceCache();
  /** The client's resources: type → name → version, without rejected ones. */
  readonly holds = new Map(TYPES.map((typeUrl) => [typeUrl, new Map<string, string>()]));
  session = new DiscoverySession(this.cache, ORDER);
  unread: DeltaDiscoveryResponse[] = [];
  unanswered: DeltaDiscoveryResponse[] = [];
  rounds = 0;

  /** A client of rounds acknowledges nothing before the end of the round. */
  readonly byRounds: boolean;

  constructor(byRounds: boolean) {
    this.byRounds = byRounds;
    this.publish(A, 'x', '0', false);
    this.connect();
  }

  publish(typeUrl: string, name: string, value: string | undefined, urgent: boolean): void {
    const changed = this.cache.set(typeUrl, name, value === undefined ? undefined : Buffer.from(value));
    if (!changed) return;
    this.rounds += 1;
    this.cache.set(LAST, 'last', Buffer.from(String(this.rounds)));
    this.session.change([
      {
        typeUrl,
        names: [name],
        urgent: new Set(urgent ? [name] : []),
      },
      { typeUrl: LAST, names: ['last'], urgent: new Set() },
    ]);
  }

  connect(): void {
    this.session = new DiscoverySession(this.cache, ORDER);
    [this.unread, this.unanswered] = [[], []];
    for (const typeUrl of TYPES)
      this.request({
        typeUrl,
        resourceNamesSubscribe: ['*'],
        initialResourceVersions: Object.fromEntries(this.holds.get(typeUrl) ?? []),
      });
  }

  /** The connection accepts this many responses. */
  read(count: number): void {
    for (let n = 0; n < count; n += 1) {
      const response = this.session.next(0);
      if (!response) return this.session.endTurn();
      const names = response.resources.map((bytes) => Resource.decode(bytes).name);
      assert.equal(
        new Set([...names, ...response.removedResources]).size,
        names.length + response.removedResources.length,
        'a name twice',
      );
      if (response.typeUrl === LAST && response.resources.length > 0) {
        for (const each of this.session.subscriptions())
          assert.ok(each.typeUrl === LAST || each.pending === 0, 'the end of a round before its end');
      }
      this.unread.push(response);
      this.unanswered.push(response);
      assert.ok(this.unanswered.filter(({ typeUrl }) => typeUrl === LAST).length <= 1, 'two rounds at a time');
    }
  }

  answer(count: number, refuse: boolean): void {
    const complete = this.unanswered.findLastIndex(({ typeUrl }) => typeUrl === LAST) + 1;
    for (const { typeUrl, nonce, resources, removedResources } of this.unanswered.splice(
      0,
      this.byRounds ? Math.min(count, complete) : count,
    )) {
      const held = this.holds.get(typeUrl) ?? new Map<string, string>();
      for (const name of removedResources) held.delete(name);
      if (!refuse)
        for (const { name, version } of resources.map((bytes) => Resource.decode(bytes))) held.set(name, version);
      this.request({
        typeUrl,
        responseNonce: nonce,
        errorDetail: refuse && resources.length > 0 ? { code: 3, message: 'no', details: [] } : undefined,
      });
    }
  }

  request(request: Partial<DeltaDiscoveryRequest> & { typeUrl: string }): void {
    this.session.receive({
      node: undefined,
      resourceNamesSubscribe: [],
      resourceNamesUnsubscribe: [],
      initialResourceVersions: {},
      responseNonce: '',
      errorDetail: undefined,
      ...request,
    });
  }

  settle(): void {
    for (let turns = 0; turns < 20; turns += 1) {
      this.read(100);
      this.answer(100, false);
    }
  }
}

describe('a session', () => {
  it('brings its client to the published state after any events', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, byRounds) => {
        const model = new Model(byRounds);
        for (const each of steps) {
          if (each.do === 'publish') model.publish(each.typeUrl, each.name, each.value, each.urgent);
          else if (each.do === 'read') model.read(each.count);
          else if (each.do === 'answer') model.answer(each.count, each.refuse);
          else model.connect();
        }
        model.settle();
        for (const typeUrl of [A, B]) {
          const given = model.cache.all(typeUrl);
          const subscription = model.session.subscription(typeUrl);
          const held = model.holds.get(typeUrl);
          for (const name of new Set([...given.keys(), ...(held?.keys() ?? [])])) {
            const wanted = given.get(name)?.version;
            assert.equal(subscription?.waiting(name), false, `${name} waits`);
            if (subscription?.refusal(name) === undefined) assert.equal(held?.get(name), wanted, `${typeUrl} ${name}`);
            else assert.notEqual(wanted, undefined);
          }
          assert.ok(subscription?.idle);
        }
        assert.ok(model.session.caughtUp);
      }),
      { numRuns: 300 },
    );
  });

  it('sends urgent changes first, and removals after additions, children first', () => {
    const model = new Model(true);
    model.settle();
    model.publish(A, 'y', '1', false);
    model.publish(B, 'y', '1', false);
    model.settle();
    model.unread = [];
    model.publish(A, 'x', undefined, false);
    model.publish(A, 'y', undefined, false);
    model.publish(A, 'z', '1', false);
    model.publish(B, 'z', '1', false);
    model.publish(B, 'y', '2', true);
    model.settle();
    const seen = model.unread.map(
      ({ typeUrl, resources, removedResources }) =>
        `${typeUrl} +${resources.map((bytes) => Resource.decode(bytes).name).join()} -${removedResources.join()}`,
    );
    assert.deepEqual(seen, ['test/B +y -', 'test/A +z -', 'test/B +z -', 'test/A + -x,y', 'test/Last +last -']);
  });
});
