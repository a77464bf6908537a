/** The credit dialog: a preset fills in the amount, and the balance is shown as it will be afterwards. */
const form = document.getElementById('credit-form');
const amount = form?.querySelector('input[name="usd"]');
const after = document.getElementById('credit-after');
const NANO = 1_000_000_000n;

/** Nano-USD; undefined: not an amount of dollars. */
function nanoOf(typed) {
  const [, whole, fraction = ''] = /^\$?\s*(\d{1,10})(?:[.](\d{1,9}))?$/.exec(typed.trim().replaceAll(',', '')) ?? [];
  return whole === undefined ? undefined : BigInt(whole) * NANO + BigInt(fraction.padEnd(9, '0'));
}

/** Rounded down to cents: it promises nothing that is not there. */
function usd(nano) {
  const cents = nano / 10_000_000n - (nano < 0n && nano % 10_000_000n !== 0n ? 1n : 0n);
  const magnitude = cents < 0n ? -cents : cents;
  const fraction = String(magnitude % 100n).padStart(2, '0');
  return `${cents < 0n ? '−' : ''}$${(magnitude / 100n).toLocaleString('en-US')}.${fraction}`;
}

function tellAfter() {
  const granted = nanoOf(amount.value);
  const balance = BigInt(after.dataset.balance);
  after.textContent =
    granted === undefined
      ? `The balance is ${usd(balance)} now.`
      : `The balance goes from ${usd(balance)} to ${usd(balance + granted)}.`;
  for (const preset of form.querySelectorAll('input[name="preset"]'))
    preset.checked = granted !== undefined && nanoOf(preset.value) === granted;
}

if (form && amount && after) {
  form.addEventListener('change', ({ target }) => {
    if (target.name !== 'preset') return;
    amount.value = target.value;
    tellAfter();
  });
  amount.addEventListener('input', tellAfter);
  tellAfter();
}

(document.querySelector('[aria-invalid="true"]') ?? document.getElementById('error-summary'))?.focus();
