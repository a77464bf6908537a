/** Support: a distribution on a free port, and waiting without sleeping. */
import type { Logger } from 'pino';
import { startDistribution } from '../../../../operator/xds/distribution.ts';
import type { Distribution, DistributionOptions } from '../../../../operator/xds/distribution.ts';

export const QUIET: Pick<Logger, 'info' | 'warn' | 'error' | 'debug'> = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  debug: () => undefined,
};

export interface TestDistribution extends Distribution, AsyncDisposable {}

export async function testDistribution(options: Partial<DistributionOptions> = {}): Promise<TestDistribution> {
  const distribution = await startDistribution({
    listen: { host: '127.0.0.1', port: 0 },
    gatewayNamespace: 'model-gateway',
    security: { insecure: true },
    log: QUIET,
    ...options,
  });
  return Object.assign(distribution, { [Symbol.asyncDispose]: () => distribution.stop() });
}

/** Resolves when the condition is true; checked in every turn of the event loop. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds())
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
}
