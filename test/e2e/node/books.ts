/**
 * Reads the ledger on the release's Valkey while it is in use, and compares it with what clients and the provider saw.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { openValkeyReader } from '../../../dataplane/ledger/valkey-reader.ts';
import type { AccountSpending, KeySpending } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import { NAMESPACE } from '../charts/situations.ts';
import type { Call } from './traffic.ts';
import type { ClusterRelease } from './cluster-release.ts';

export interface Books {
  readonly records: readonly UsageRecord[];
  /** In the order of the requested uids. */
  readonly keys: readonly KeySpending[];
  readonly account: AccountSpending;
}

/** The balances of an account and its keys. */
export async function readBooks(release: ClusterRelease, account: string, keyUids: readonly string[]): Promise<Books> {
  const {
    spec: { clusterIP },
  } = await release.get(`/api/v1/namespaces/${NAMESPACE}/services/model-gateway-valkey`);
  const {
    data: { password },
  } = await release.get(`/api/v1/namespaces/${NAMESPACE}/secrets/model-gateway-valkey-password`);
  const certificate = await release.get(`/api/v1/namespaces/${NAMESPACE}/secrets/model-gateway-valkey-tls`);
  const { folder } = release.node;
  const [passwordFile, caFile] = [join(folder, 'valkey-password'), join(folder, 'valkey-ca.crt')];
  await writeFile(passwordFile, Buffer.from(password, 'base64'), { mode: 0o600 });
  await writeFile(caFile, Buffer.from(certificate.data['ca.crt'], 'base64'));
  // the certificate is for names and 127.0.0.1, not for a Service's address
  await using here = await forward(clusterIP, 6379);
  const reader = openValkeyReader(`valkeys://127.0.0.1:${here.port}/0?password-file=${passwordFile}&ca-file=${caFile}`);
  try {
    return {
      records: await Array.fromAsync(reader.records({ account })),
      keys: await Promise.all(keyUids.map((uid) => reader.readKey(uid, 'Never'))),
      account: await reader.readAccount(account),
    };
  } finally {
    reader.close();
  }
}

/** Opens a port of this machine that leads to an address. */
async function forward(host: string, to: number): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket
        .on('error', () => {
          near.destroy();
          far.destroy();
        })
        .on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns what is wrong; `asked` is the number of calls that the provider received. */
export function reconcile({ records, keys, account }: Books, calls: readonly Call[], asked: number): string[] {
  const sum = records.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n);
  const byId = new Map(records.map((record) => [record.callId, record]));
  const known = new Set(calls.map(({ id }) => id));
  const nameless = records.filter(({ callId }) => !known.has(callId)).length;
  const headless = calls.filter(({ id }) => id === '').length;
  // a proxy that is killed between a call's hold and its request leaves an abandoned call that was not sent
  const sent = records.filter(({ status }) => status !== 'Abandoned');
  return [
    ...calls.flatMap((call) => billed(call, byId.get(call.id))),
    ...(sum === account.spentNanoUsd ? [] : [`the account has spent ${account.spentNanoUsd}, its records say ${sum}`]),
    ...(keys.reduce((total, { totalSpentNanoUsd }) => total + totalSpentNanoUsd, 0n) === sum
      ? []
      : [`its keys have spent ${keys.map((key) => key.totalSpentNanoUsd).join(' + ')}, the records say ${sum}`]),
    ...([...keys, account].every(({ heldNanoUsd }) => heldNanoUsd === 0n)
      ? []
      : ['money is held although nothing runs']),
    ...(sent.length <= asked ? [] : [`${sent.length} calls in the books were sent, the provider had ${asked}`]),
    ...(nameless <= headless
      ? []
      : [
          `${nameless} records belong to calls that nobody knows, but only ${headless} ` +
            `calls ended before they had a name`,
        ]),
  ];
}

/** A call whose end was seen is billed by its usage; one that was seen in part is billed for something. */
function billed({ id, status, ended, costNanoUsd, text }: Call, record: UsageRecord | undefined): string[] {
  if (status !== 200) return record ? [`${id} was refused with ${status}, and billed`] : [];
  if (!record) return [`${id} was answered and is in no book: ${text.slice(-200)}`];
  if (ended && costNanoUsd !== undefined)
    return record.costNanoUsd === costNanoUsd && record.status === 'Succeeded'
      ? []
      : [`${id} says that it costs ${costNanoUsd}, the books ${record.costNanoUsd} ${record.status}`];
  return record.costNanoUsd > 0n ? [] : [`${id} was cut short and is billed nothing`];
}
