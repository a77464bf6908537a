// Beside an Envoy, which cannot be told by its pod's end: it knows SIGTERM only as its own end, and until then answers on connections
// that callers keep. Told to drain, it closes each connection with its answer, and callers go to another Envoy.
import { setTimeout } from 'node:timers/promises';

async function drain() {
  for (;;) {
    const drained = await fetch('http://127.0.0.1:9901/drain_listeners?graceful&skip_exit', { method: 'POST' }).then(({ ok }) => ok, () => false);
    if (drained) break;
    await setTimeout(100);
  }
  process.exit();
}

process.once('SIGTERM', () => void drain());
setInterval(() => {}, 2 ** 30);
