"use strict";
// Puts a chosen file's text into the field that is sent; without this it can be pasted there.
(() => {
  for (const chooser of document.querySelectorAll("input[data-into]")) {
    chooser.closest(".from-file").hidden = false;
    chooser.addEventListener("change", async () => {
      if (chooser.files.length) document.getElementById(chooser.dataset.into).value = await chooser.files[0].text();
    });
  }
})();
