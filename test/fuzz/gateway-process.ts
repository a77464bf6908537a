/**
 * A gateway in a process of its own, for measurements, forked with the provider's address as its argument. It sends its
 * URL when it is ready, and its memory after a collection on request.
 */
import { startGateway } from '../support/gateway.ts';
import { cancelling, keysManifest, platformManifest } from '../support/manifests.ts';

const [openaiUrl = '', maxBodyBytes, maxBufferedBytes] = process.argv.slice(2);

const platform = cancelling(platformManifest({ openaiUrl, anthropicUrl: openaiUrl }));
const gateway = await startGateway({
  files: { 'keys.yaml': keysManifest(), 'platform.yaml': platform },
  ...(maxBodyBytes === undefined ? {} : { maxBodyBytes: Number(maxBodyBytes) }),
  ...(maxBufferedBytes === undefined ? {} : { maxBufferedBytes: Number(maxBufferedBytes) }),
});
let peakRss = 0;
const watch = setInterval(() => {
  peakRss = Math.max(peakRss, process.memoryUsage.rss());
}, 5);

process.on('message', (message) => {
  if (message === 'memory') void sendMemory();
  else {
    clearInterval(watch);
    void gateway.stop().then(() => process.disconnect?.());
  }
});

/** Sends the memory after garbage and its finalizers are gone. */
async function sendMemory(): Promise<void> {
  (gateway.logs as string[]).length = 0;
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const cpuMs = (user + system) / 1000;
  process.send?.({ rss, held: heapUsed + external, peakRss, cpuMs, holds: gateway.ledger.gauges().holds });
  peakRss = 0;
}

process.send?.({ url: gateway.url });
