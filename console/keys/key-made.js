/** Polls until the key has been made, and then shows it: only the elements that differ change, so the focus stays. */
import { Idiomorph } from 'idiomorph';

const LONGEST_MS = 120_000;
const FIRST_MS = 300;
const begun = performance.now();

function schedule(afterMs) {
  const made = document.getElementById('made');
  const seconds = Number(made?.dataset.refresh);
  if (seconds > 0 && performance.now() - begun < LONGEST_MS) setTimeout(() => void look(), afterMs ?? seconds * 500);
}

async function look() {
  const made = document.getElementById('made');
  try {
    const address = new URL(location.href);
    address.searchParams.set('part', '');
    const response = await fetch(address, { credentials: 'same-origin' });
    if (!response.ok || response.redirected) return location.reload();
    const template = document.createElement('template');
    template.innerHTML = await response.text();
    const next = template.content.getElementById('made');
    if (next && next.dataset.state !== made.dataset.state) {
      // a promise only for documents with a head
      void Idiomorph.morph(made, next);
      document.dispatchEvent(new CustomEvent('console:changed', { detail: document.getElementById('made') }));
    }
  } catch {
    // the network is away: it may come back
  }
  return schedule();
}

schedule(FIRST_MS);
