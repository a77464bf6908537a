/** The month's report: it adds up on the page, equals its CSV and the ledger, and says when it is final. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { UsageRecord } from '#usage/record.ts';
import { call, manyCalls, ROUTE_WITH_COST, usageBook, walletStand } from '../wallet/stand.ts';
import type { WalletStand } from '../wallet/stand.ts';

function textOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

describe('a month', () => {
  const records: UsageRecord[] = [];
  let stand: WalletStand;
  let ci = '';

  beforeAll(() => {
    stand = walletStand(usageBook(records), [ROUTE_WITH_COST]);
    ci = stand.world.apiKey('team-a', 'ci').metadata.uid ?? '';
    const app = stand.world.apiKey('team-a', 'app').metadata.uid ?? '';
    const theirs = stand.world.apiKey('team-b', 'theirs').metadata.uid ?? '';
    const october = [
      ...manyCalls(200, [ci, app]),
      ...manyCalls(60, [theirs], 'team-b/main').map((record) => ({ ...record, callId: `b_${record.callId}` })),
    ].map((record, at) => ({
      ...record,
      createdMs: Date.UTC(2026, 9, 1) + at * 9_000_000,
      costNanoUsd: record.costNanoUsd === 0n ? 0n : record.costNanoUsd + 123n,
      ...(at % 3 > 0 && { upstreamCostNanoUsd: (record.costNanoUsd * 7n) / 10n }),
      ...(at % 5 === 0 && { labels: 'app=search' }),
    }));
    records.push(
      ...october,
      call('req_before', ci, { createdMs: Date.UTC(2026, 9, 1) - 1, costNanoUsd: 999_000_000_000n }),
      call('req_after', ci, { createdMs: Date.UTC(2026, 10, 1), status: 'Running' }),
    );
  });
  afterAll(() => stand.app.close());

  const see = async (query: string, token = 'petra') =>
    (await stand.see(token, `/usage/months?month=2026-10${query}`)).body;
  const nano = (text: string): bigint => {
    const [, sign = '', whole = '0', fraction = ''] = /(−?)\$([\d,]+)\.?(\d*)/.exec(text) ?? [];
    return BigInt(`${sign === '' ? '' : '-'}${whole.replaceAll(',', '')}${fraction.padEnd(9, '0')}`);
  };
  /** What the page shows: the cells of each line by their heading. */
  const linesOf = (body: string): Map<string, string>[] => {
    const titles = [...body.matchAll(/<th scope="col"[^>]*>(.*?)<\/th>/g)].map(([, title = '']) =>
      textOf(title).trim(),
    );
    return [...body.matchAll(/<tr[^>]*>(?!<th scope="col")(.*?)<\/tr>/g)].map(([, line = '']) => {
      const cells = [...line.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell = '']) => textOf(cell).trim());
      return new Map(titles.map((title, at) => [title, cells[at] ?? '']));
    });
  };
  const amount = (line: Map<string, string>, title: string): bigint => nano(line.get(title) ?? '');

  it('adds up as shown: lines to the sums and the foot, and billed to cost, margin and what is unknown', async () => {
    for (const split of [
      '',
      '&by=key',
      '&by=group',
      '&by=labels',
      '&by=none',
      '&rows=model&by=account',
      '&rows=labels',
    ]) {
      const lines = linesOf(await see(split));
      const foot = lines.at(-1) ?? assert.fail();
      const parts = lines.slice(0, -1).filter((line) => [...line.values()][1] !== 'All');
      assert.ok(parts.length > 1, split);
      for (const title of ['Billed', 'Of this, cost unknown', 'Upstream cost', 'Margin'])
        assert.equal(
          parts.reduce((sum, line) => sum + amount(line, title), 0n),
          amount(foot, title),
          `${split} ${title}`,
        );
      for (const line of lines)
        assert.equal(
          amount(line, 'Billed'),
          amount(line, 'Of this, cost unknown') + amount(line, 'Upstream cost') + amount(line, 'Margin'),
          split,
        );
      const ledger = records
        .filter(({ callId }) => callId !== 'req_before' && callId !== 'req_after')
        .reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n);
      assert.equal(amount(foot, 'Billed'), ledger, split);
    }
  });

  it('has one number of decimals in all amounts', async () => {
    const places = new Set(
      [...(await see('')).matchAll(/class="money"[^>]*>−?\$[\d,]+\.(\d+)</g)].map(([, f = '']) => f.length),
    );
    assert.equal(places.size, 1);
  });

  it('has the same lines as CSV, with the columns of cost for the platform alone', async () => {
    const csv = async (token: string) =>
      (await stand.see(token, '/usage/months.csv?month=2026-10')).body
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(','));
    const [head = [], ...lines] = await csv('petra');
    assert.deepEqual(head.slice(0, 5), ['month', 'final', 'account', 'model', 'calls']);
    const sum = (title: string): number => lines.reduce((all, cells) => all + Number(cells[head.indexOf(title)]), 0);
    assert.equal(sum('calls'), 260);
    assert.ok(
      Math.abs(sum('billed_usd') - sum('billed_of_unknown_cost_usd') - sum('upstream_cost_usd') - sum('margin_usd')) <
        1e-9,
    );
    assert.equal(lines.length, linesOf(await see('')).filter((line) => line.get('Model') !== 'All').length - 1);
    const [theirHead = [], ...theirs] = await csv('alice');
    assert.doesNotMatch(theirHead.join(), /upstream|margin|unknown/);
    assert.ok(theirs.length > 0 && theirs.every((cells) => cells[2] === 'team-a/main'));
    assert.doesNotMatch(await see('', 'alice'), /Upstream cost|>Margin<|team-b/);
  });

  it('is final a day after its end, unless calls of it are still running', async () => {
    assert.match(await see(''), />Final</);
    assert.match(textOf((await stand.see('petra', '/usage/months?month=2026-11')).body), /not final before 2026-12-02/);
    const running = call('req_job', ci, { createdMs: Date.UTC(2026, 9, 20), status: 'Running' });
    const other = walletStand(usageBook([{ ...running, keyUid: 'x' }]));
    const { body } = await other.see('alice', '/usage/months?month=2026-10');
    assert.match(textOf(body), /not final: calls of it are still running/);
    assert.match((await other.see('alice', '/usage/months.csv?month=2026-10')).body, /^2026-10,no,/m);
    await other.app.close();
  });

  it('is not final while the console has only some of its calls', async () => {
    const part = walletStand(usageBook(records, Date.UTC(2026, 9, 5)));
    const { body } = await part.see('alice', '/usage/months?month=2026-10');
    assert.match(textOf(body), /2026-10 · not final: some of its calls are missing here/);
    assert.match((await part.see('alice', '/usage/months.csv?month=2026-10')).body, /^2026-10,no,/m);
    await part.app.close();
  });

  it('has all calls, whatever status a list of calls was narrowed to', async () => {
    assert.deepEqual(linesOf(await see('&status=Failed')), linesOf(await see('')));
  });

  it('is this month where the address names none that has begun', async () => {
    for (const month of ['2026-13', 'x', '2027-01', '2026-1'])
      assert.match(
        textOf((await stand.see('petra', `/usage/months?month=${month}`)).body),
        /2026-11 · not final/,
        month,
      );
  });

  it('leads from each name to its calls of the month', async () => {
    const href = /href="(\/usage\/calls\?[^"]*model=gpt-5-mini[^"]*)"/
      .exec(await see(''))?.[1]
      ?.replaceAll('&amp;', '&');
    assert.match(href ?? '', /since=2026-10-01&until=2026-10-31/);
    const { body } = await stand.see('petra', href ?? '');
    const expected = records.filter(({ model }) => model === 'gpt-5-mini').length;
    assert.match(textOf(body), new RegExp(` ${expected} calls · `));
  });
});
