/** Finds the ports that cannot be opened, after a failed start: the failure itself names one of them. */
import { createServer } from 'node:net';
import { explainListen } from './listen-errors.ts';
import type { FlagAddress } from './listen-errors.ts';

/** A line for each address that this process cannot listen on. No part of this process may listen any more. */
export async function findBusyPorts(addresses: readonly FlagAddress[]): Promise<string[]> {
  const failures = await Promise.all(addresses.filter(({ port }) => port !== 0).map(listenFailure));
  return failures.flatMap((failure) => (failure instanceof Error ? [failure.message] : []));
}

/** Why an address cannot be listened on, in words; undefined if it can. */
function listenFailure(address: FlagAddress): Promise<unknown> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error) => resolve(explainListen(error, [address])));
    server.listen({ host: address.host, port: address.port, exclusive: true }, () => {
      server.close(() => resolve(undefined));
    });
  });
}
